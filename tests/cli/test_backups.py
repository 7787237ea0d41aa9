import os
import shutil

import numpy as np
import pyarrow as pa
import pytest
from support import disks, small

import hubless
from hubless.builder import backup
from hubless.errors import InputError
from hubless.knn import INDEXES
from hubless.search.kept_scores.kept_corrections import KeptCorrections
from hubless.search.writes import Remove
from hubless.store import bundle
from hubless.store.bank_order import give_bank, read_bank
from hubless.store.bundle import read_manifest
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
    code, told = run("backup", tmp_path / "backup")
    assert (code, told["sound"], told["versions"], told["writes"]) == (0, True, 2, {NAME: 2})
    assert run("restore", tmp_path / "backup", on=tmp_path / "new")[0] == 0
    restored = hubless.Catalog(tmp_path / "new")
    assert restored.version_ids(NAME) == catalog.version_ids(NAME)
    assert restored.current(NAME) == catalog.current(NAME)
    assert restored.aliases().keys() == {"pictures"}
    opened, before = hubless.open(restored.path, "pictures"), hubless.open(catalog.path, NAME)
    assert (opened.seq, opened.count) == (before.seq, before.count) == (2, small.COUNT - 2)
    np.testing.assert_array_equal(read_bank(restored.path / NAME)[1], small.query_bank())
    assert remove(restored, small.IDS[11]) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup", "catalog", "new"]


def test_sound_scores_are_backed_up_and_restored_unless_their_names_are_taken(catalog, run, tmp_path):
    kept = KeptCorrections(catalog.path)
    for name in ("words", "taken", "torn"):
        kept.put(name, hubless.ScoreCorrection.fit([([name], [1.0])]))
    kept.path("torn").write_bytes(b"ARROW1")
    os.mkfifo(kept.path("pipe"))
    code, told = run("backup", tmp_path / "backup")
    assert code == 1
    assert {each["collection"] for each in told["problems"]} == {".scores/torn", ".scores/pipe"}
    KeptCorrections(tmp_path / "new").put("taken", hubless.ScoreCorrection.fit([(["mine"], [1.0])]))
    assert run("restore", tmp_path / "backup", on=tmp_path / "new")[0] == 0
    restored = KeptCorrections(tmp_path / "new")
    assert {name: [*restored.get(name).offsets] for name in restored.names()} == {"taken": ["mine"], "words": ["words"]}


def test_restore_and_backup_overwrite_nothing(catalog, run, tmp_path):
    run("backup", tmp_path / "backup")
    assert run("restore", tmp_path / "backup")[0] == 1  # the collection is there
    catalog.delete(NAME, aliases=True)
    assert run("restore", tmp_path / "backup")[0] == 0
    assert hubless.open(catalog.path, "pictures").count == small.COUNT - 2
    assert run("verify")[1]["sound"]
    assert run("backup", tmp_path / "backup")[0] == 1


def reseal_all(catalog):
    for folder in catalog.version_folders(NAME):
        small.reseal(folder)


def flip(catalog):
    """A file of the segment that both versions have."""
    path = offsets_of(catalog)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    return "offsets.npy: was changed after it was written"


def offsets_of(catalog):
    return small.path_of(catalog.folder(NAME), bundle.OFFSETS)


def flip_own(catalog):
    path = catalog.folder(NAME) / bundle.GONE
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    return "gone.npz: was changed after it was written"


def let_more_go(catalog):
    folder = catalog.folder(NAME)
    (segment,) = read_manifest(folder).segments
    np.savez(folder / bundle.GONE, **{segment.name: np.packbits(np.arange(segment.count) < 2, bitorder="little")})
    small.reseal(folder)
    return "gone.npz: leaves 2 targets out of segment"


def lose_gone(catalog):
    (catalog.folder(NAME) / bundle.GONE).unlink()
    return "gone.npz: missing"


def lose_segment(catalog):
    shutil.rmtree(offsets_of(catalog).parent)
    return "missing"


def change_offsets(catalog):
    path = offsets_of(catalog)
    np.save(path, np.load(path) + np.float32(0.5))
    reseal_all(catalog)
    return "canary query 0"


def swap_correction(catalog):
    """That of another build, whose offsets are others."""
    folder = catalog.folder(NAME)
    small.build_full(catalog.path, "other", data=5, correction="csls", parameters={"k": 9}, index="flat")
    there = small.path_of(catalog.folder("other"), bundle.CORRECTION)
    shutil.copyfile(there, small.path_of(folder, bundle.CORRECTION))
    reseal_all(catalog)
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


OF_BOTH = [flip, lose_segment, change_offsets, swap_correction]
"""Damages of what both versions have: neither is sound."""
OF_LAST = [flip_own, let_more_go, lose_gone, lose_version]
OF_LOG = [damage_log, lose_log]


@pytest.mark.parametrize("damage", [*OF_BOTH, *OF_LAST, *OF_LOG, lose_collection])
def test_verify_and_backup_name_what_is_wrong(catalog, run, tmp_path, damage):
    first, second = catalog.version_ids(NAME)
    assert run("verify") == (0, {"sound": True, "versions": 2, "writes": {NAME: 2}, "problems": []})
    expected = damage(catalog)
    code, told = run("verify")
    assert (code, told["sound"]) == (1, False)
    named = {each["version"] for each in told["problems"] if expected in each["problem"]}
    wanted = {damage: {first, second} for damage in OF_BOTH} | {damage: {second} for damage in OF_LAST}
    assert wanted.get(damage, named) <= named, told
    assert named
    code, told = run("backup", tmp_path / "backup")
    if damage is lose_collection:  # the alias is not copied, as nothing is there for it
        assert (code, told["sound"]) == (0, True)
        return
    assert (code, told["sound"]) == (1, False)
    assert told["problems"]
    if damage in OF_LAST:
        code, told = run("verify", on=tmp_path / "backup")
        assert (code, told["writes"][NAME]) == (0, 2)
        assert hubless.Catalog(tmp_path / "backup").version_ids(NAME) == [first]
    else:  # no version is sound, or none has the writes that were answered
        copies = tmp_path / "backup"
        assert not copies.exists() or hubless.Catalog(copies).collections() == ["other"]


def test_version_that_shares_nothing_with_a_damaged_one_is_backed_up_alone(catalog, run, tmp_path):
    flip(catalog)
    sound = small.build_full(catalog.path, NAME, data=1, index="flat", replace_writes=True).version
    assert len({each["version"] for each in run("verify")[1]["problems"]}) == 2
    assert run("backup", tmp_path / "backup")[0] == 1
    copy = hubless.Catalog(tmp_path / "backup")
    assert copy.version_ids(NAME) == [sound]
    for kind in ("segments", "fits"):  # what only the damaged ones name is not copied
        assert [path.name for path in (copy.path / NAME / kind).iterdir()] == [sound]
    assert run("verify", on=copy.path)[1]["sound"]


def test_what_several_versions_name_is_copied_once(catalog, run, tmp_path, monkeypatch):
    copied = []
    copy_open = backup.copy_open

    def counted(file, path):
        copied.append(path.name)
        copy_open(file, path)

    monkeypatch.setattr(backup, "copy_open", counted)
    assert run("backup", tmp_path / "backup")[0] == 0
    first, _ = (read_manifest(folder).files for folder in catalog.version_folders(NAME))
    shared = sorted(file.rpartition("/")[2] for file in first if "/" in file)
    assert sorted(name for name in copied if name in shared) == shared
    assert copied.count(bundle.CANARY) == copied.count(bundle.MANIFEST) == 2
    home, there = catalog.path / NAME, tmp_path / "backup" / NAME
    for kind in ("segments", "fits", "versions"):
        assert small.contents(there / kind) == small.contents(home / kind)


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
    code, told = run("backup", tmp_path / "backup")
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
    assert run("backup", tmp_path / "backup", "--skip", "more")[1]["writes"] == {NAME: 2, "others": 0}
    code, told = run("restore", tmp_path / "backup", "--collection", "others", on=tmp_path / "new")
    assert (code, told["writes"]) == (0, {"others": 0})
    assert run("restore", tmp_path / "backup", "--collection", "more", on=tmp_path / "new")[0] == 1
    assert hubless.Catalog(tmp_path / "new").collections() == ["others"]


def test_restore_of_a_folder_with_nothing_to_restore_is_refused_and_makes_no_catalog(catalog, run, tmp_path):
    assert run("backup", tmp_path / "backup")[0] == 0
    for folder, chosen in ((tmp_path, ()), (tmp_path / "backup" / NAME, ()), (tmp_path / "backup", ("--skip", NAME))):
        assert run("restore", str(folder), *chosen, on=tmp_path / "new")[0] == 1
        assert not (tmp_path / "new").exists()
    with pytest.raises(InputError, match="expected a backup with collections or scores to restore"):
        backup.restore(tmp_path, hubless.Catalog(tmp_path / "new"))


@pytest.mark.parametrize("inside", ["versions/zzz", "zzz"])
def test_backup_into_a_collection_of_the_catalog_is_refused(catalog, run, tmp_path, inside):
    (tmp_path / "link").symlink_to(catalog.path)
    for path in (catalog.path, tmp_path / "link"):
        assert run("backup", str(path / NAME / inside))[0] == 1
    assert run("verify")[1]["sound"]


def test_copies_have_the_modes_of_what_is_copied(catalog, run, tmp_path):
    home, version = catalog.path / NAME, catalog.current(NAME)
    offsets = offsets_of(catalog).relative_to(home)
    folders = ["versions/" + version, offsets.parent, f"fits/{read_manifest(catalog.folder(NAME)).fit}"]
    for folder in (catalog.path, home, *(home / each for each in folders)):
        folder.chmod(0o700)
    for file in (home / LOG, home / offsets):
        file.chmod(0o600)
    run("backup", tmp_path / "backup")
    run("restore", tmp_path / "backup", on=tmp_path / "new")
    for copy in (tmp_path / "backup", tmp_path / "new"):
        there = copy / NAME
        modes = [path.stat().st_mode & 0o777 for path in (copy, there, *(there / each for each in folders))]
        assert modes == [0o700] * 5
        files = there / LOG, there / LOG_LAST, there / offsets
        assert [path.stat().st_mode & 0o777 for path in files] == [0o600] * 3


def test_restore_that_fails_at_the_end_leaves_nothing_and_succeeds_when_it_is_repeated(catalog, run, tmp_path):
    small.build_full(catalog.path, "others", index="flat")
    run("backup", tmp_path / "backup")
    new = tmp_path / "new"
    new.mkdir()
    (new / ".aliases.json").mkdir()  # so that they cannot be written
    assert run("restore", tmp_path / "backup", on=new)[0] == 1
    assert [path.name for path in new.iterdir() if not path.name.startswith(".")] == []
    (new / ".aliases.json").rmdir()
    assert run("restore", tmp_path / "backup", on=new)[0] == 0
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
        code, told = run("backup", tmp_path / "backup", on=medium / "catalog")
        assert (code, told["writes"]) == (0, {NAME: 3})
        assert run("restore", str(medium / "catalog"), on=tmp_path / "new")[0] == 0
    for copy in (tmp_path / "backup", tmp_path / "new"):
        assert hubless.open(copy, NAME).count == small.COUNT - 3
