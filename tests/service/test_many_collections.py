"""A service of many collections looks only at those in which something happened, and misses none of it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import pyarrow as pa
import pytest
from support import small
from support.until import until

import hubless
from hubless.errors import StorageError
from hubless.search.writes import Remove
from hubless.store import catalog as catalogs
from hubless.store.bundle import OFFSETS
from hubless.store.log import LOG_SEEN, WRITTEN, Log
from hubless_service.searching import catalog_follower, log_follower
from hubless_service.searching.catalog_follower import CatalogFollower
from hubless_service.searching.collection_sources import CatalogSource
from hubless_service.searching.freshness import Freshness
from hubless_service.searching.log_follower import LogFollower
from hubless_service.searching.shelf import Shelf, as_problem
from hubless_service.settings import Settings

NAMES = ["birds", "fish", "trees"]


@pytest.fixture
def catalog(tmp_path):
    for data, name in enumerate(NAMES):
        small.build_full(tmp_path, name, data=data)
    return tmp_path


@contextmanager
def followed(catalog):
    """A shelf with all collections, and who looks at the catalog when that is asked for."""
    source, shelf, loaded = CatalogSource(catalog), Shelf(), threading.Event()
    settings = Settings(catalog=catalog, poll_seconds=1000)
    freshness = Freshness(source, shelf, 1.0, run=None)
    follower = CatalogFollower(source, shelf, freshness, settings, lambda: None)
    follower.start(loaded.set)
    loaded.wait()
    yield shelf, follower
    follower.stop()
    for living in shelf.living():
        living.log.close()


@pytest.fixture
def shelf(catalog):
    with followed(catalog) as (shelf, follower):
        follower.stop()  # the test looks
        follower._thread.join()
        yield shelf


@pytest.fixture
def looked(monkeypatch):
    """The logs that were looked at."""
    found, last = [], Log.last

    def noting(log):
        if log.path.parent.name in NAMES:  # servers of other tests may look at theirs
            found.append(log.path.parent.name)
        return last(log)

    monkeypatch.setattr(Log, "last", noting)
    return found


@pytest.fixture
def logs(shelf, catalog, looked, monkeypatch):
    """Follows the logs, after a look at all of them; the next such look is far away."""
    monkeypatch.setattr(log_follower, "_RESTS", 1e9)
    made = LogFollower(CatalogSource(catalog).written, shelf)
    assert not made.look()
    assert sorted(looked) == NAMES
    looked.clear()
    return made


def remove(catalog, name, wanted):
    """A write by another process."""
    return small.record(Log(catalog / name), Remove(pa.array([wanted])))


def seqs(shelf):
    return {living.base.name: living.current.seq for living in shelf.living()}


def test_only_the_log_that_was_written_to_is_looked_at(catalog, shelf, logs, looked):
    assert not logs.look()
    assert looked == []
    remove(catalog, "fish", "0")
    logs.look()
    logs.look()
    assert looked == ["fish"]
    assert seqs(shelf) == {"birds": 0, "fish": 1, "trees": 0}


@pytest.mark.parametrize("lost", [WRITTEN, f"fish/{LOG_SEEN}"])
def test_write_is_followed_after_a_file_that_notes_it_was_deleted(catalog, shelf, logs, lost):
    for seq, wanted in enumerate(["0", "-1", "a/b"], 1):
        remove(catalog, "fish", wanted)
        logs.look()
        assert seqs(shelf)["fish"] == seq
        (catalog / lost).unlink()
        logs.look()


def test_write_of_which_no_number_tells_is_found_by_the_look_at_all(catalog, shelf, logs):
    note = catalog / WRITTEN
    told = note.read_bytes()
    remove(catalog, "fish", "0")
    note.write_bytes(told)
    logs.look()
    assert seqs(shelf)["fish"] == 0
    logs._next_all = 0.0
    logs.look()
    assert seqs(shelf)["fish"] == 1
    note.unlink()
    note.mkdir()
    with pytest.raises(StorageError):  # or other workers would not hear of it
        remove(catalog, "fish", "-1")


def test_log_that_somebody_here_writes_to_just_now_is_looked_at_again(catalog, shelf, logs):
    living = shelf.known("fish").living
    with ThreadPoolExecutor(1) as another:
        another.submit(living.changing.acquire).result()
        remove(catalog, "fish", "0")
        logs.look()
        assert seqs(shelf)["fish"] == 0
        another.submit(living.changing.release).result()
    logs.look()
    assert seqs(shelf)["fish"] == 1


def test_version_that_came_while_its_writes_were_told_is_looked_at(catalog, shelf, logs):
    slot = shelf.known("fish")
    shelf.drop("fish")
    remove(catalog, "fish", "0")
    logs.look()
    shelf.keep(NAMES)
    shelf.put("fish", slot)
    logs.forget()
    logs.look()
    assert seqs(shelf)["fish"] == 1


@pytest.fixture
def later(monkeypatch):
    """The clock says that all changes were long ago."""
    moment = catalogs.now() + timedelta(hours=1)
    monkeypatch.setattr(catalogs, "now", lambda: moment)


def test_marks_are_others_after_each_change_that_a_server_looks_for(catalog, later):
    home = catalogs.Catalog(catalog)
    changes = {
        "build": lambda: small.build_full(catalog, "fish", data=7),
        "rollback": lambda: home.rollback("fish"),
        "answer": lambda: home.answer("fish"),
        "second answer": lambda: home.answer("fish"),
        "third version": lambda: small.build_full(catalog, "fish", data=8),
        "prune": lambda: home.prune("fish", 1),
    }
    seen = [home.marks("fish")]
    for name, change in changes.items():
        change()
        assert home.marks("fish") not in seen, name
        seen.append(home.marks("fish"))
    assert None not in seen
    assert home.marks("fish") == seen[-1]


def test_there_are_no_marks_just_after_a_change_nor_of_what_is_not_there(catalog, monkeypatch):
    home = catalogs.Catalog(catalog)
    assert home.marks("fish") is None
    assert home.marks("nothing") is None


def test_collection_without_changes_is_not_read_again_and_one_with_a_change_is(catalog, later, monkeypatch):
    read, current = [], CatalogSource.current

    def noting(source, name):
        read.append(name)
        return current(source, name)

    with followed(catalog) as (shelf, follower):
        follower._look()  # after the first one, by whose end all were opened
        monkeypatch.setattr(CatalogSource, "current", noting)
        follower._look()
        assert read == []
        made = small.build_full(catalog, "fish", data=9)
        until(lambda: shelf.known("fish").tried == made.version)
    assert set(read) == {"fish"}


def test_failure_that_has_passed_is_forgotten_though_nothing_changed(catalog, later, monkeypatch):
    with followed(catalog) as (shelf, follower):
        follower._look()

        def refuse(source, name):
            raise OSError(5, "the disk is away")

        monkeypatch.setattr(CatalogSource, "current", refuse)
        monkeypatch.setattr(CatalogSource, "marks", lambda source, name: None)
        follower._look()
        assert shelf.known("fish").failure is not None
        monkeypatch.undo()
        monkeypatch.setattr(catalogs, "_TICK_SECONDS", -3600.0)
        follower._look()
        assert shelf.known("fish").failure is None


def test_collections_for_which_there_is_no_room_are_named_and_opened_when_there_is(catalog, monkeypatch, caplog):
    monkeypatch.setattr(catalog_follower, "most_collections", lambda: 2)
    with followed(catalog) as (shelf, follower):
        follower._look()
        assert {each.name for each in shelf.served()} == {"birds", "fish"}
        told = as_problem(shelf.known("trees").failure)
        assert (told.code, told.detail[:18]) == ("storage", "trees: not opened,")
        assert any(line.startswith("collections trees: not opened") for line in caplog.messages)
        hubless.Catalog(catalog).delete("birds")
        follower._wanted.set()
        until(lambda: {each.name for each in shelf.served()} == {"fish", "trees"})


def test_version_whose_files_turn_out_to_be_wrong_is_refused_though_nothing_changed(catalog, later):
    path = small.path_of(small.folder(catalog, manifest_of(catalog)), OFFSETS)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    with followed(catalog) as (shelf, follower):
        follower._look()
        path.write_bytes(content)
        follower._check_hashes(shelf.served())
        until(lambda: "fish" not in {each.name for each in shelf.served()} and not follower._opening)
        assert "hash differs" in str(shelf.known("fish").failure)


def manifest_of(catalog):
    [info] = catalogs.Catalog(catalog).versions("fish")
    return info.manifest
