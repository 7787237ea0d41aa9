"""Whatever stops a build, a rollback or a deletion, and whenever: the collection stays whole."""

import os

import pytest
from support import faults, small

import hubless
from hubless.store.liveness import machine
from hubless.store.unfinished import SILENT_SECONDS

QUICK = [("build", "template"), ("rollback", "template"), ("prune", "template")]
FIRST = pytest.param("build", "nothing", marks=pytest.mark.slow)


def outcomes(action, fault, start, template, root):
    return faults.run(action, fault, template if start == "template" else root / "no-template", root)


def leftovers(catalog):
    home = catalog / "photos"
    beside = {entry.name for entry in home.iterdir()} - {"CURRENT", "LOCK", "versions"} if home.exists() else set()
    return sorted(beside | {name for name in small.entries(catalog) if name.startswith(".")})


def check_whole(outcome, template):
    """The collection can be opened, no version in it was changed, and the next build clears up."""
    catalog = outcome.catalog
    before = small.contents(template / "photos" / "versions") if template.exists() else {}
    known = {file.split("/")[0] for file in before}
    current = small.check_complete(catalog).version if (catalog / "photos" / "CURRENT").exists() else None
    assert current is not None or not before
    after = small.contents(catalog / "photos" / "versions")
    kept = {version for version in small.entries(catalog) if version in known}
    assert {file: data for file, data in after.items() if file.split("/")[0] in kept} == {
        file: data for file, data in before.items() if file.split("/")[0] in kept
    }
    new = small.build(catalog).version
    assert hubless.Catalog(catalog).current("photos") == new
    assert leftovers(catalog) == []
    assert set(small.entries(catalog)) == kept | {current, new} - {None}
    return kept


@pytest.mark.parametrize(("action", "start"), [*QUICK, FIRST])
def test_killed_at_any_step_leaves_a_whole_collection_and_the_next_build_clears_up(
    action, start, template, tmp_path, attack
):
    root = tmp_path / action
    root.mkdir()
    results = outcomes(action, "kill", start, template, root)
    attack("kills of builds, roll backs and prunes, at each change of a file", len(results))
    assert len(results) > 5
    for outcome in results:
        assert outcome.error == "killed"
        kept = check_whole(outcome, template if start == "template" else tmp_path / "nothing")
        assert len(kept) == 2 or action == "prune" or start == "nothing"


@pytest.mark.parametrize(("action", "start"), [*QUICK, FIRST])
def test_full_disk_at_any_step_is_said_in_words_and_leaves_nothing(action, start, template, tmp_path, attack):
    root = tmp_path / action
    root.mkdir()
    results = outcomes(action, "refuse", start, template, root)
    attack("disks that are full for builds, roll backs and prunes, at each change of a file", len(results))
    assert len(results) > 5
    for outcome in results:
        if outcome.error is None:  # a step that can fail without harm
            check_whole(outcome, template if start == "template" else tmp_path / "nothing")
            continue
        assert outcome.error == "StorageError", outcome
        assert outcome.text.endswith(": the disk is full")
        if action != "prune":  # what could not be deleted stays, out of sight
            assert leftovers(outcome.catalog) == [], outcome
        check_whole(outcome, template if start == "template" else tmp_path / "nothing")


def test_disk_that_takes_a_part_of_any_file_is_noticed_and_leaves_nothing(template, tmp_path):
    before = small.contents(template)
    results = faults.run("build", "limit", template, tmp_path)
    assert len(results) > 10
    for outcome in results:
        assert outcome.error == "StorageError", outcome
        assert outcome.text.endswith(": the file would be larger than allowed")
        assert small.contents(outcome.catalog) == before


@pytest.mark.parametrize("kills", [15, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("start", ["template", "nothing"])
def test_killed_at_any_time_leaves_a_whole_collection(start, kills, template, tmp_path, attack):
    results = outcomes("build", f"anytime:{kills}", start, template, tmp_path)
    attack("kills of builds at a random moment", len(results))
    assert len(results) == kills
    for outcome in results:
        check_whole(outcome, template if start == "template" else tmp_path / "nothing")


def lock_of(catalog, version, owner=None):
    """The lock of a build, as it is left when its process dies."""
    lock = catalog / "photos" / "versions" / f".staging-{version}@{machine() if owner is None else owner}.lock"
    lock.touch()
    return lock


def test_leftovers_of_dead_processes_are_removed_by_the_next_build(tmp_path):
    first = small.build(tmp_path)
    versions = tmp_path / "photos" / "versions"
    for name in (".staging-20250101-aaa", ".deleted-20250101-bbb"):
        (versions / name).mkdir()
        (versions / name / "index.faiss").write_bytes(b"half")
    for version in ("20250101-aaa", "20250101-without-folder"):
        lock_of(tmp_path, version)
    second = small.build(tmp_path)
    assert small.entries(tmp_path) == [first.version, second.version]


def test_version_that_was_moved_but_never_current_is_removed_by_the_next_change(tmp_path):
    first, second, third = (small.build(tmp_path) for _ in range(3))
    catalog = hubless.Catalog(tmp_path)
    catalog.rollback("photos", second.version)
    lock_of(tmp_path, third.version)
    assert catalog.rollback("photos") == first.version
    assert small.entries(tmp_path) == [first.version, second.version]


def test_version_that_is_current_stays_though_its_build_was_killed_at_the_last_step(tmp_path):
    first, second = small.build(tmp_path), small.build(tmp_path)
    lock_of(tmp_path, second.version)
    assert hubless.Catalog(tmp_path).rollback("photos") == first.version
    assert small.entries(tmp_path) == [first.version, second.version]


@pytest.mark.parametrize("name", [".staging-20250101-aaa@elsewhere", ".staging-20250101-aaa"], ids=["now", "0.1.0"])
def test_leftovers_of_another_machine_stay_until_it_was_silent_for_an_hour(tmp_path, name):
    small.build(tmp_path)
    versions = tmp_path / "photos" / "versions"
    staging, lock = versions / ".staging-20250101-aaa", versions / f"{name}.lock"
    staging.mkdir()
    lock.touch()
    small.build(tmp_path)
    assert staging.exists()
    assert lock.exists()
    silent = lock.stat().st_mtime - SILENT_SECONDS - 60
    os.utime(lock, (silent, silent))
    small.build(tmp_path)
    assert leftovers(tmp_path) == []
