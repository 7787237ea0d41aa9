"""What a power cut may not take: everything reaches the disk before it becomes visible."""

import os
from pathlib import Path

import pytest
from support import small

import hubless


@pytest.fixture
def journal(monkeypatch):
    """What is synced and moved, in order, by inode."""
    events = []
    for name in ("rename", "replace"):
        move = getattr(os, name)

        def record_move(source, target, move=move):
            events.append(("moved", Path(source).stat().st_ino))
            move(source, target)

        monkeypatch.setattr(os, name, record_move)
    monkeypatch.setattr(os, "fsync", lambda descriptor: events.append(("synced", os.fstat(descriptor).st_ino)))
    return events


def inode(path):
    return path.stat().st_ino


def test_build_syncs_all_files_then_moves_then_syncs_the_folder_then_makes_current(tmp_path, journal):
    catalog = tmp_path / "new" / "catalog"
    manifest = small.build_full(catalog)
    home, version = catalog / "photos", small.folder(catalog, manifest)
    moved = journal.index(("moved", inode(version)))
    for file in version.iterdir():
        assert ("synced", inode(file)) in journal[:moved], file
    assert ("synced", inode(version)) in journal[:moved]
    made_current = journal.index(("moved", inode(home / "CURRENT")))
    assert ("synced", inode(home / "versions")) in journal[moved:made_current]
    assert ("synced", inode(home / "CURRENT")) in journal[moved:made_current]
    assert ("synced", inode(home)) in journal[made_current:]
    for made in (home / "versions", home, catalog, catalog.parent):
        assert ("synced", inode(made.parent)) in journal[:moved], made


def test_manifest_is_written_after_all_other_files(tmp_path, journal):
    version = small.folder(tmp_path, small.build_full(tmp_path))
    order = [number for event, number in journal if event == "synced"]
    others = [order.index(inode(file)) for file in version.iterdir() if file.name != "manifest.json"]
    assert order.index(inode(version / "manifest.json")) > max(others)


def test_rollback_syncs_the_new_current_before_and_its_folder_after(tmp_path, journal):
    for _ in range(2):
        small.build(tmp_path)
    journal.clear()
    hubless.Catalog(tmp_path).rollback("photos")
    home = tmp_path / "photos"
    current = inode(home / "CURRENT")
    assert journal == [("synced", current), ("moved", current), ("synced", inode(home))]
