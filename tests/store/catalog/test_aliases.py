import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from support import small

import hubless
from hubless.errors import CollectionNotFound, InputError, PreconditionFailed, StorageError


@pytest.fixture
def catalog(template, tmp_path):
    return hubless.Catalog(shutil.copytree(template, tmp_path / "catalog"))


def test_alias_means_its_collection_until_it_means_another(catalog):
    assert catalog.aliases() == {}
    assert catalog.resolve("pictures") == "pictures"
    small.build(catalog.path, name="drawings")
    first = catalog.set_alias("pictures", "photos")
    assert catalog.resolve("pictures") == "photos"
    assert hubless.open(catalog, "pictures").name == "photos"
    second = catalog.set_alias("pictures", "drawings")
    assert catalog.resolve("pictures") == "drawings"
    assert second.revision > first.revision
    assert catalog.remove_alias("pictures") == second
    assert catalog.aliases() == {}
    with pytest.raises(CollectionNotFound):
        hubless.open(catalog, "pictures")


def test_damaged_aliases_do_not_keep_a_collection_from_being_opened_by_its_name(catalog):
    catalog.set_alias("pictures", "photos")
    (catalog.path / ".aliases.json").write_text("{")
    assert hubless.open(catalog, "photos").name == "photos"
    with pytest.raises(StorageError, match="is not a file of aliases"):
        hubless.open(catalog, "pictures")


def test_each_change_of_any_alias_has_the_next_revision(catalog):
    seen = []
    for _ in range(2):
        seen += [catalog.set_alias(alias, "photos").revision for alias in ("pictures", "others")]
        catalog.remove_alias("pictures")
    assert seen == [1, 2, 4, 5]


def test_alias_that_is_not_as_expected_stays_as_it_is(catalog):
    created = catalog.set_alias("pictures", "photos", expected=0)
    for change in (
        lambda: catalog.set_alias("pictures", "photos", expected=0),
        lambda: catalog.set_alias("pictures", "photos", expected=created.revision + 1),
        lambda: catalog.set_alias("new", "photos", expected=1),
        lambda: catalog.remove_alias("pictures", expected=0),
    ):
        with pytest.raises(PreconditionFailed, match="revision"):
            change()
    assert catalog.aliases() == {"pictures": created}
    catalog.set_alias("pictures", "photos", expected=created.revision)


def test_of_many_who_expect_the_same_only_one_gets_it(catalog):
    start = catalog.set_alias("pictures", "photos")

    def change(_):
        with suppress(PreconditionFailed):
            return catalog.set_alias("pictures", "photos", expected=start.revision)

    with ThreadPoolExecutor(8) as pool:
        (won,) = filter(None, pool.map(change, range(8)))
    assert catalog.aliases() == {"pictures": won}


@pytest.mark.parametrize("name", [*small.NOT_NAMES, "../photos", ".aliases.json"])
def test_what_is_no_name_is_refused_and_touches_no_file(catalog, name):
    before = small.contents(catalog.path)
    with pytest.raises(InputError, match="alias"):
        catalog.set_alias(name, "photos")
    with pytest.raises(CollectionNotFound):
        catalog.set_alias("pictures", name)
    with pytest.raises(CollectionNotFound):
        hubless.open(catalog, name)
    with pytest.raises(hubless.HublessError):
        hubless.open(catalog, "photos", version=name)
    after = small.contents(catalog.path)
    assert {file for file in after.keys() - before.keys() if not file.endswith("LOCK")} == set()


def test_alias_does_not_stand_in_the_way_of_a_collection(catalog):
    with pytest.raises(InputError, match="a name that no collection has"):
        catalog.set_alias("photos", "photos")
    catalog.set_alias("pictures", "photos")
    with pytest.raises(InputError, match="a name that is no alias"):
        small.build(catalog.path, name="pictures")
    assert not (catalog.path / "pictures").exists()
    assert catalog.collections() == ["photos"]
    with pytest.raises(CollectionNotFound):
        catalog.set_alias("others", "pictures")


def test_name_of_a_build_that_has_begun_is_no_alias(catalog):
    with catalog.staging("new"), pytest.raises(InputError, match="a name that no collection has"):
        catalog.set_alias("new", "photos")
