import shutil
import threading

import numpy as np
import pyarrow as pa
import pytest
from support import disks, small

import hubless
from hubless.knn import INDEXES
from hubless.search.delta.writes import Remove
from hubless.store import bundle
from hubless.store.bank_order import give_bank, read_bank
from hubless.store.log import LOG, LOG_LAST

NAME = "photos"


@pytest.fixture
def catalog(tmp_path):
    made = hubless.Catalog(tmp_path / "catalog")
    small.build_full(made.path, NAME, correction="csls", parameters={"k": 3}, index="flat")
    remove(made, small.IDS[9])
    hubless.merge(made.path, NAME)
    remove(made, small.IDS[10])
    made.set_alias("pictures", NAME)
    return made


def remove(catalog, wanted):
    return small.record(catalog.log(NAME), Remove(pa.array([wanted])))


@pytest.fixture
def run(catalog, run):
    def on_catalog(*arguments, on=catalog.path):
        ended = run(*arguments, "--catalog", str(on), "--json")
        return ended.code, ended.json if ended.out else None

    return on_catalog


def test_backup_is_restored_with_versions_writes_and_aliases(catalog, run, tmp_path):
    give_bank(catalog.path / NAME, small.query_bank(), append=False)
    code, told = run("backup", str(tmp_path / "backup"))
    assert (code, told["sound"], told["versions"], told["writes"]) == (0, True, 2, {NAME: 2})
    assert run("restore", str(tmp_path / "backup"), on=tmp_path / "new")[0] == 0
    restored = hubless.Catalog(tmp_path / "new")
    assert restored.version_ids(NAME) == catalog.version_ids(NAME)
    assert restored.current(NAME) == catalog.current(NAME)
    assert restored.aliases().keys() == {"pictures"}
    opened, before = hubless.open(restored.path, "pictures"), hubless.open(catalog.path, NAME)
    assert (opened.seq, opened.count) == (before.seq, before.count) == (2, small.COUNT - 2)
    np.testing.assert_array_equal(read_bank(restored.path / NAME)[1], small.query_bank())
    assert remove(restored, small.IDS[11]) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup", "catalog", "new"]


def test_restore_and_backup_overwrite_nothing(catalog, run, tmp_path):
    run("backup", str(tmp_path / "backup"))
    assert run("restore", str(tmp_path / "backup"))[0] == 1  # the collection is there
    catalog.delete(NAME, aliases=True)
    assert run("restore", str(tmp_path / "backup"))[0] == 0
    assert hubless.open(catalog.path, "pictures").count == small.COUNT - 2
    assert run("verify")[1]["sound"]
    assert run("backup", str(tmp_path / "backup"))[0] == 1


def test_backup_while_it_is_written_to_merged_and_pruned_loses_no_write(catalog, run, tmp_path):
    stopped, answered = threading.Event(), [2]

    def write():
        while not stopped.is_set():
            answered[0] = remove(catalog, "nobody")

    def merge():
        while not stopped.is_set():
            hubless.merge(catalog.path, NAME, keep=1)

    threads = [threading.Thread(target=work) for work in (write, merge)]
    for thread in threads:
        thread.start()
    try:
        for number in range(5):
            before, folder = answered[0], tmp_path / str(number)
            assert run("backup", str(folder))[0] == 0
            seq = hubless.open(folder, NAME).seq
            assert seq >= before
            assert remove(hubless.Catalog(folder), "nobody") == seq + 1
            assert hubless.open(folder, NAME).seq == seq + 1
    finally:
        stopped.set()
        for thread in threads:
            thread.join()


def flip(catalog):
    path = catalog.folder(NAME) / bundle.OFFSETS
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    return "offsets.npy: was changed after it was written"


def change_offsets(catalog):
    folder = catalog.folder(NAME)
    np.save(folder / bundle.OFFSETS, np.load(folder / bundle.OFFSETS) + np.float32(0.5))
    small.reseal(folder)
    return "canary query 0"


def swap_correction(catalog):
    """That of another build, whose offsets are others."""
    folder = catalog.folder(NAME)
    small.build_full(catalog.path, "other", data=5, correction="csls", parameters={"k": 9}, index="flat")
    shutil.copyfile(catalog.folder("other") / bundle.CORRECTION, folder / bundle.CORRECTION)
    small.reseal(folder)
    return "offsets differ from those of the stored correction"


def damage_log(catalog):
    log = catalog.log(NAME)
    with log.writing() as appender:
        appender._connection.execute("UPDATE writes SET body = zeroblob(9) WHERE seq = 2")
        appender.commit()
    log.close()
    return "write 2 cannot be read"


def lose_log(catalog):
    last = (catalog.path / NAME / LOG_LAST).read_bytes()
    for path in (catalog.path / NAME).glob(f"{LOG}*"):
        path.unlink()
    (catalog.path / NAME / LOG_LAST).write_bytes(last)
    return "writes after 1 cannot be read"


def lose_version(catalog):
    shutil.rmtree(catalog.folder(NAME))
    return "it is current, and is not there"


def lose_collection(catalog):
    small.build_full(catalog.path, "others")
    catalog.set_alias("lost", "others")
    shutil.rmtree(catalog.path / "others")
    return "the alias 'lost' stands for it"


@pytest.mark.parametrize(
    "damage", [flip, change_offsets, swap_correction, damage_log, lose_log, lose_version, lose_collection]
)
def test_verify_and_backup_name_what_is_wrong(catalog, run, tmp_path, damage):
    assert run("verify") == (0, {"sound": True, "versions": 2, "writes": {NAME: 2}, "problems": []})
    expected = damage(catalog)
    code, told = run("verify")
    assert (code, told["sound"]) == (1, False)
    assert any(expected in each["problem"] for each in told["problems"]), told
    code, told = run("backup", str(tmp_path / "backup"))
    if damage is lose_collection:  # the alias is not copied, as nothing is there for it
        assert (code, told["sound"]) == (0, True)
        return
    assert (code, told["sound"]) == (1, False)
    assert told["problems"]
    if damage in (lose_log, damage_log):  # no version has the writes that were answered
        assert not (tmp_path / "backup").exists()
    else:
        code, told = run("verify", on=tmp_path / "backup")
        assert (code, told["writes"][NAME]) == (0, 2)
        assert len(hubless.Catalog(tmp_path / "backup").version_ids(NAME)) == 1


@pytest.mark.parametrize(
    ("correction", "index"),
    [*((name, "flat") for name in ("none", "auto", "dis")), *(("csls", name) for name in INDEXES)],
)
def test_sound_versions_of_every_kind_are_called_sound(tmp_path, run, correction, index):
    small.build_full(tmp_path / "kinds", NAME, correction=correction, index=index)
    code, told = run("verify", on=tmp_path / "kinds")
    assert (code, told["sound"], told["versions"], told["problems"]) == (0, True, 1, [])


def lose_current(home):
    (home / "CURRENT").unlink()


def name_nothing(home):
    (home / "CURRENT").write_text("../../x")


@pytest.mark.parametrize(
    ("damage", "said"), [(lose_current, "no version was current"), (name_nothing, "it was to be current")]
)
def test_collection_without_a_current_version_is_named_and_copied_with_its_newest(catalog, run, tmp_path, damage, said):
    newest = catalog.version_ids(NAME)[-1]
    damage(catalog.path / NAME)
    assert run("verify")[0] == 1
    code, told = run("backup", str(tmp_path / "backup"))
    assert (code, told["writes"]) == (1, {NAME: 2})
    assert told["problems"][-1]["problem"].endswith(f"{said}: the copy has {newest} in its place")
    assert hubless.open(tmp_path / "backup", NAME).count == small.COUNT - 2
    assert catalog.rollback(NAME, newest) == catalog.current(NAME) == newest
    assert run("verify")[1]["sound"]


def test_collection_that_is_only_being_created_is_no_fault(catalog, run):
    (catalog.path / "coming" / "versions" / ".staging-1").mkdir(parents=True)
    assert run("verify")[1]["sound"]


def test_chosen_collections_are_copied_and_restored(catalog, run, tmp_path):
    small.build_full(catalog.path, "others", index="flat")
    small.build_full(catalog.path, "more", index="flat")
    assert run("backup", str(tmp_path / "backup"), "--skip", "more")[1]["writes"] == {NAME: 2, "others": 0}
    code, told = run("restore", str(tmp_path / "backup"), "--collection", "others", on=tmp_path / "new")
    assert (code, told["writes"]) == (0, {"others": 0})
    assert run("restore", str(tmp_path / "backup"), "--collection", "more", on=tmp_path / "new")[0] == 1
    assert hubless.Catalog(tmp_path / "new").collections() == ["others"]


@pytest.mark.parametrize("inside", ["versions/zzz", "zzz"])
def test_backup_into_a_collection_of_the_catalog_is_refused(catalog, run, tmp_path, inside):
    (tmp_path / "link").symlink_to(catalog.path)
    for path in (catalog.path, tmp_path / "link"):
        assert run("backup", str(path / NAME / inside))[0] == 1
    assert run("verify")[1]["sound"]


def test_copies_have_the_modes_of_what_is_copied(catalog, run, tmp_path):
    home, version = catalog.path / NAME, catalog.current(NAME)
    for folder in (catalog.path, home, home / "versions" / version):
        folder.chmod(0o700)
    for file in (home / LOG, home / "versions" / version / bundle.OFFSETS):
        file.chmod(0o600)
    run("backup", str(tmp_path / "backup"))
    run("restore", str(tmp_path / "backup"), on=tmp_path / "new")
    for copy in (tmp_path / "backup", tmp_path / "new"):
        there = copy / NAME
        modes = [path.stat().st_mode & 0o777 for path in (copy, there, there / "versions" / version)]
        assert modes == [0o700] * 3
        files = there / LOG, there / LOG_LAST, there / "versions" / version / bundle.OFFSETS
        assert [path.stat().st_mode & 0o777 for path in files] == [0o600] * 3


def test_restore_that_fails_at_the_end_leaves_nothing_and_succeeds_when_it_is_repeated(catalog, run, tmp_path):
    small.build_full(catalog.path, "others", index="flat")
    run("backup", str(tmp_path / "backup"))
    new = tmp_path / "new"
    new.mkdir()
    (new / ".aliases.json").mkdir()  # so that they cannot be written
    assert run("restore", str(tmp_path / "backup"), on=new)[0] == 1
    assert [path.name for path in new.iterdir() if not path.name.startswith(".")] == []
    (new / ".aliases.json").rmdir()
    assert run("restore", str(tmp_path / "backup"), on=new)[0] == 0
    assert hubless.open(new, "pictures").count == small.COUNT - 2


def test_catalog_on_a_read_only_disk_is_verified_and_backed_up_with_the_writes_of_its_wal(catalog, run, tmp_path):
    log = catalog.log(NAME)
    log.last()
    small.record(catalog.log(NAME), Remove(pa.array([small.IDS[11]])))  # the other stays open, so the WAL stays too
    assert (catalog.path / NAME / f"{LOG}-wal").stat().st_size
    with disks.disk(tmp_path / "medium", 50) as medium:
        shutil.copytree(catalog.path, medium / "catalog")
        log.close()
        disks.remount(medium, "ro")
        code, told = run("verify", on=medium / "catalog")
        assert (code, told["writes"]) == (0, {NAME: 3})
        code, told = run("backup", str(tmp_path / "backup"), on=medium / "catalog")
        assert (code, told["writes"]) == (0, {NAME: 3})
        assert run("restore", str(medium / "catalog"), on=tmp_path / "new")[0] == 0
    for copy in (tmp_path / "backup", tmp_path / "new"):
        assert hubless.open(copy, NAME).count == small.COUNT - 3
