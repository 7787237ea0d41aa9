"""A collection that is deleted while somebody else works with it: that one is told so, and makes nothing anew."""

import shutil
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from support import small

from hubless.builder import lifecycle
from hubless.builder.pipeline.engines import delete
from hubless.errors import CollectionNotFound, StorageError, storage_errors
from hubless.store.aliases import changing_aliases
from hubless.store.bank_order import give_bank, read_bank
from hubless.store.catalog import VERSIONS, Catalog
from hubless.store.locks import noted_outside
from hubless.store.log import LOG

NAME = "photos"


@pytest.fixture
def catalog(tmp_path):
    lifecycle.create(tmp_path, NAME, dim=small.DIM, metric="cosine", id_type="string")
    return Catalog(tmp_path)


def at_once(catalog, *works):
    """Do works that all wait for the lock of the aliases; the kinds of errors that come, each in its place."""
    with ThreadPoolExecutor(len(works)) as pool:
        with changing_aliases(catalog.path):
            doing = [pool.submit(work) for work in works]
            wait(doing, 0.5)  # they wait
        came = [each.exception() for each in doing]
    return [error and type(error) for error in came]


def test_of_those_who_delete_at_once_one_does_and_the_others_find_nothing(catalog):
    came = at_once(catalog, *[lambda: delete(catalog, NAME)] * 6)
    assert sorted(map(str, came)) == sorted(map(str, [None, *[CollectionNotFound] * 5]))


def test_alias_does_not_stand_for_a_collection_that_is_deleted_before(catalog):
    at_once(catalog, lambda: delete(catalog, NAME, aliases=True), *[lambda: catalog.set_alias("last", NAME)] * 6)
    assert not (catalog.path / NAME).exists()
    assert catalog.aliases() == {}


def test_version_that_is_built_meanwhile_is_not_published(catalog):
    def build():
        with catalog.staging(NAME) as staged, storage_errors(staged.folder):
            catalog.delete(NAME)
            (staged.folder / "file").write_text("late")

    with pytest.raises(CollectionNotFound, match="'photos' was deleted"):
        build()
    assert not (catalog.path / NAME).exists()


def test_version_is_not_published_after_the_deletion(catalog):
    def build():
        manifest = catalog.versions(NAME)[0].manifest
        with catalog.staging(NAME) as staged:
            catalog.delete(NAME)
            staged.publish(manifest)

    with pytest.raises(CollectionNotFound, match="'photos' was deleted"):
        build()
    assert not (catalog.path / NAME).exists()


@pytest.mark.parametrize("append", [False, True])
def test_bank_is_not_kept_for_the_next_collection_of_the_name(catalog, append):
    catalog.delete(NAME)
    with pytest.raises(CollectionNotFound, match="'photos' was deleted"):
        give_bank(catalog.path / NAME, small.query_bank(), append=append)
    assert not (catalog.path / NAME).exists()
    assert read_bank(catalog.path / NAME) is None


def test_versions_that_are_gone_are_not_told_as_damaged(catalog, monkeypatch):
    read = Catalog.current

    def current(self, name):
        """Delete it after the first look."""
        try:
            return read(self, name)
        finally:
            if (self.path / name).exists():
                monkeypatch.undo()
                catalog.delete(name)

    monkeypatch.setattr(Catalog, "current", current)
    with pytest.raises(CollectionNotFound):
        catalog.versions(NAME)


def test_version_without_a_folder_of_versions_is_a_fault_of_the_disk(catalog):
    shutil.rmtree(catalog.path / NAME / VERSIONS)
    with pytest.raises(StorageError, match="versions: no such file"):
        catalog.versions(NAME)


def test_notes_of_versions_are_none_once_the_collection_is_gone(catalog):
    versions = catalog.path / NAME / VERSIONS
    (versions / ".outside-1").write_text("engine name")
    assert noted_outside(versions) == {"1": "engine name"}
    catalog.delete(NAME)
    assert noted_outside(versions) == {}


def test_what_is_deleted_while_strays_are_looked_for_is_none(catalog, monkeypatch):
    listed = Catalog.version_folders

    def delete_first(self, name):
        shutil.rmtree(self.path / name)
        return listed(self, name)

    (catalog.path / NAME / LOG).unlink(missing_ok=True)
    monkeypatch.setattr(Catalog, "version_folders", delete_first)
    assert catalog.strays() == {}
