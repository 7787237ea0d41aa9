import itertools
import shutil
from datetime import UTC, datetime, timedelta

import pytest
from support import small

import hubless
from hubless.errors import BundleDamaged, CollectionNotFound, InputError, VersionNotFound
from hubless.store import catalog as catalogs
from hubless.store.bundle import read_manifest


@pytest.fixture
def three(tmp_path):
    return hubless.Catalog(tmp_path), [small.build(tmp_path, data=data).version for data in range(3)]


def corrupt(catalog, version):
    path = small.path_of(catalog.folder("photos", version), "offsets.npy")
    path.write_bytes(path.read_bytes()[:-1] + b"!")


@pytest.mark.parametrize("back", [timedelta(0), timedelta(days=400)], ids=["stands still", "was set back"])
def test_versions_sort_by_age_though_the_clock(tmp_path, monkeypatch, back):
    start, looks = datetime(2026, 5, 6, tzinfo=UTC), itertools.count()
    monkeypatch.setattr(catalogs, "now", lambda: start - back * next(looks))
    monkeypatch.setattr(catalogs.secrets, "token_hex", lambda _: f"{999_999 - next(looks)}")  # falls, by chance
    (tmp_path / "photos" / "versions" / "what-a-person-put-here").mkdir(parents=True)
    built = [small.build(tmp_path, data=data).version for data in range(3)]
    assert built == sorted(set(built))
    catalog = hubless.Catalog(tmp_path)
    assert catalog.rollback("photos") == built[1]
    catalog.rollback("photos", built[2])
    assert catalog.prune("photos", 3) == built[:1]  # what stands there counts as the newest


def test_collection_without_a_published_version_is_not_listed_and_not_found(tmp_path):
    small.build(tmp_path, "songs")
    (tmp_path / "photos" / "versions").mkdir(parents=True)
    (tmp_path / "a-file").touch()
    catalog = hubless.Catalog(tmp_path)
    assert catalog.collections() == ["songs"]
    for name in ("photos", "a-file", "unknown"):
        with pytest.raises(CollectionNotFound, match=name):
            catalog.versions(name)


def test_damaged_version_is_listed_with_its_problem(three):
    catalog, ids = three
    (catalog.path / "photos" / "versions" / ids[1] / "manifest.json").write_text("{")
    listed = catalog.versions("photos")
    assert [version.manifest is None for version in listed] == [False, True, False]
    assert "manifest.json" in listed[1].problem


def test_rollback_goes_back_one_version_at_a_time_and_then_says_that_there_is_none(three):
    catalog, ids = three
    assert catalog.rollback("photos") == ids[1]
    assert catalog.rollback("photos") == ids[0] == small.check_complete(catalog.path).version
    with pytest.raises(VersionNotFound, match=ids[0]):
        catalog.rollback("photos")
    assert catalog.current("photos") == ids[0]


@pytest.mark.parametrize("version", ["", "unknown", "../versions", ".", 3])
def test_rollback_to_an_unknown_version_is_refused(three, version):
    catalog, ids = three
    with pytest.raises(VersionNotFound):
        catalog.rollback("photos", version)
    assert catalog.current("photos") == ids[2]


def test_rollback_to_a_version_with_a_damaged_file_is_refused_naming_it(three):
    catalog, ids = three
    corrupt(catalog, ids[1])
    with pytest.raises(BundleDamaged, match=r"offsets\.npy"):
        catalog.rollback("photos")
    assert small.check_complete(catalog.path).version == ids[2]


def kept(catalog, name="photos"):
    """The segments and fits that are there."""
    home = catalog.path / name
    return {f"{kind}/{path.name}" for kind in ("segments", "fits") for path in (home / kind).iterdir()}


def named(catalog, *versions):
    """The segments and fits that versions name."""
    manifests = [read_manifest(catalog.folder("photos", version)) for version in versions]
    return {file.rpartition("/")[0] for manifest in manifests for file in manifest.files if "/" in file}


def test_prune_deletes_what_no_version_names_and_keeps_what_another_names(tmp_path):
    first, second = (made.version for made in small.merged(tmp_path))
    third = small.build_full(tmp_path, data=1, replace_writes=True).version
    catalog = hubless.Catalog(tmp_path)
    assert kept(catalog) == named(catalog, first, second, third)
    catalog.rollback("photos", second)
    assert catalog.prune("photos", 1) == [first]
    assert kept(catalog) == named(catalog, second, third)
    assert {f"segments/{first}", f"fits/{first}"} < kept(catalog)  # which the second shares
    small.check_complete(tmp_path)
    catalog.rollback("photos", third)
    assert catalog.prune("photos", 1) == [second]
    assert kept(catalog) == named(catalog, third)
    assert len(kept(catalog)) == 2
    small.check_complete(tmp_path)


@pytest.mark.parametrize("change", ["prune", "sweep"])
def test_nothing_that_a_version_with_a_damaged_manifest_may_name_is_deleted(three, change):
    catalog, ids = three
    before = kept(catalog)
    path = catalog.folder("photos", ids[1]) / "manifest.json"
    whole = path.read_bytes()
    path.write_text("{")
    shutil.rmtree(catalog.folder("photos", ids[0]))
    catalog.prune("photos", 3) if change == "prune" else catalog.sweep("photos")
    assert kept(catalog) == before
    path.write_bytes(whole)
    catalog.sweep("photos")
    assert kept(catalog) == named(catalog, *ids[1:]) < before


@pytest.mark.parametrize("keep", [0, -1, 1.5, "2", True, None])
def test_prune_refuses_to_keep_none_or_no_whole_number(three, keep):
    catalog, ids = three
    with pytest.raises(InputError, match="keep"):
        catalog.prune("photos", keep)
    assert small.entries(catalog.path) == ids


def test_version_in_use_can_be_pruned(three):
    catalog, ids = three
    opened = hubless.open(catalog, "photos", version=ids[0])
    before = opened.query(small.query_bank())
    catalog.prune("photos", 1)
    after = opened.query(small.query_bank())
    assert (after.rows == before.rows).all()
    assert opened.point(3, vector=True).row == 3


@pytest.mark.parametrize("name", [*small.NOT_NAMES, "../photos", "photos/..", "/photos", "a" * 5000, None])
def test_what_cannot_be_a_name_is_not_found_though_the_path_exists(tmp_path, name):
    small.build(tmp_path / "catalog", "photos")
    catalog = hubless.Catalog(tmp_path / "catalog")
    before = small.contents(tmp_path)
    for ask in (catalog.current, catalog.versions, catalog.rollback, lambda n: catalog.prune(n, 1), catalog.folder):
        with pytest.raises(CollectionNotFound):
            ask(name)
    assert small.contents(tmp_path) == before


@pytest.mark.parametrize("content", [b"", b"20250101T000000000000-abcdef", b"..", b"../versions", b"\xff\xfe", b"\0"])
def test_current_that_names_no_version_is_damage_that_is_named_and_a_build_repairs(three, content):
    catalog, ids = three
    (catalog.path / "photos" / "CURRENT").write_bytes(content)
    with pytest.raises(BundleDamaged, match="CURRENT"):
        hubless.open(catalog, "photos")
    assert hubless.open(catalog, "photos", version=ids[0]).version == ids[0]
    assert [version.current for version in catalog.versions("photos")] == [False] * 3
    assert catalog.rollback("photos", ids[2]) == ids[2] == small.check_complete(catalog.path).version


def test_log_is_cut_only_after_what_all_versions_have(tmp_path):
    first, merged = small.merged(tmp_path)
    catalog = hubless.Catalog(tmp_path)
    assert catalog.cut_log("photos") == first.log_seq == 0
    assert catalog.log("photos").last() == merged.log_seq == 2
    assert len(catalog.log("photos").since(0)) == 2
    catalog.prune("photos", 1)
    assert catalog.cut_log("photos") == 2
    assert catalog.log("photos").first() == 3
