"""Numbers in small files: what one process raises, all others see."""

import multiprocessing

import pytest
from support import small

import hubless
from hubless.builder.backup import back_up, restore
from hubless.builder.pipeline.engines import delete
from hubless.store.catalog import Catalog
from hubless.store.notes import Note

TIMES, PROCESSES = 50, 3


@pytest.fixture
def note(tmp_path):
    return Note(tmp_path / "note")


def test_number_that_nobody_raised_is_0_and_makes_no_file_and_one_that_is_put_is_read(note):
    assert note.stamp() == (0, 0)
    assert not note.path.exists()
    note.put(2**63)
    assert Note(note.path).number() == 2**63


def raise_often(path):
    for _ in range(TIMES):
        Note(path).raise_by_one()


def test_no_raise_of_several_processes_is_lost(note):
    spawned = multiprocessing.get_context("spawn")
    children = [spawned.Process(target=raise_often, args=[note.path]) for _ in range(PROCESSES)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert note.number() == PROCESSES * TIMES


def test_file_that_was_deleted_and_made_anew_is_another_with_the_same_number(note):
    note.raise_by_one()
    before = note.stamp()
    note.path.unlink()
    assert note.stamp()[1] == 0
    Note(note.path).raise_by_one()
    assert note.number() == before[1]
    assert note.stamp() != before


@pytest.mark.parametrize("damage", [b"", b"7", b"x" * 30, b"0" * 30])
def test_damaged_file_says_nothing_and_is_raised_again(note, damage):
    note.path.write_bytes(damage)
    assert note.number() == 0
    note.raise_by_one()
    assert note.number() == 1


def test_each_change_of_a_catalog_is_noted(tmp_path):
    catalog = Catalog(tmp_path / "catalog")
    small.build_full(catalog.path)
    small.build_full(catalog.path)
    back_up(catalog, tmp_path / "backup")
    changes = {
        "alias": lambda: catalog.set_alias("last", "photos"),
        "alias moved": lambda: catalog.set_alias("last", "photos"),
        "alias removed": lambda: catalog.remove_alias("last"),
        "rollback": lambda: catalog.rollback("photos"),
        "build": lambda: small.build_full(catalog.path),
        "deletion": lambda: delete(catalog, "photos"),
        "restore": lambda: restore(tmp_path / "backup", catalog),
    }
    silent = []
    for name, change in changes.items():
        before = hubless.Catalog(catalog.path).changes.stamp()
        change()
        if catalog.changes.stamp() == before:
            silent.append(name)
    assert silent == []
