import re
import shutil
from contextlib import suppress

import numpy as np
import pytest
from support import small

import hubless
from hubless.errors import BundleDamaged, BundleError, PointNotFound, UnsupportedBundle
from hubless.store.bundle import read_manifest

FIT = ["bank_sample.npy", "confidence.npz", "correction.npz", "encoder.json", "encoder.npy"]
TARGETS = ["ids.arrow", "index.faiss", "offsets.npy", "payload.arrow"]
BUILT, WRITTEN = [*TARGETS, "occurrence.npy"], [*TARGETS, "bare.npy", "stamps.npy"]
SHARED = [*(f"fit/{name}" for name in FIT), *(f"built/{name}" for name in BUILT)]
FILES = ["canary.npz", "gone.npz", *SHARED, *(f"written/{name}" for name in WRITTEN)]
COUNTS = {"built": small.COUNT, "written": 3}
SEAL = rb'(?m)^.*"manifest_sha256".*\n'


@pytest.fixture
def catalog(merged, tmp_path):
    return shutil.copytree(merged, tmp_path / "catalog")


@pytest.fixture
def folder(catalog):
    return hubless.Catalog(catalog).folder("photos")


def path_of(folder, file):
    """The path of a file of a version with a built segment, a written one and a fit."""
    manifest, (kind, _, name) = read_manifest(folder), file.rpartition("/")
    built, written = manifest.segments
    places = {"fit": f"fits/{manifest.fit}", "built": f"segments/{built.name}", "written": f"segments/{written.name}"}
    return folder.parents[1] / places[kind] / name if kind else folder / name


def refused(catalog, file, **options):
    folder = hubless.Catalog(catalog).folder("photos", options.get("version"))
    with pytest.raises(BundleDamaged) as caught:
        hubless.open(catalog, "photos", **options)
    assert caught.value.path == (folder / file if file == "manifest.json" else path_of(folder, file))
    assert caught.value.code == "bundle_damaged"
    assert "\n" not in str(caught.value)
    return caught.value.problem


def test_whole_bundle_has_these_files_and_opens(catalog, folder):
    paths = [path_of(folder, file) for file in FILES]
    assert sorted(small.paths(folder)) == sorted(paths)
    there = {path for path in [*paths, folder / "manifest.json"] for path in path.parent.iterdir()}
    assert there == {*paths, folder / "manifest.json"}
    small.check_complete(catalog)
    assert hubless.open(catalog, "photos", hashes=False).count == small.COUNT - 1 + 3


@pytest.mark.parametrize("file", FILES)
def test_other_length_is_named_with_both_sizes_and_a_flipped_bit_by_the_hash(catalog, folder, file):
    path = path_of(folder, file)
    data = path.read_bytes()
    for changed in (data[:-1], data + b"\0"):
        path.write_bytes(changed)
        problem = f"has {len(changed)} bytes, the manifest says {len(data)}"
        assert refused(catalog, file, hashes=False) == refused(catalog, file) == problem
    for place, bit in ((0, 0), (len(data) // 2, 4), (len(data) - 1, 7)):
        flipped = bytearray(data)
        flipped[place] ^= 1 << bit
        path.write_bytes(flipped)
        assert "hash differs" in refused(catalog, file)


@pytest.mark.parametrize("file", SHARED)
def test_damage_of_what_versions_share_is_named_by_each_and_the_sweep_leaves_it(catalog, folder, file):
    path = path_of(folder, file)
    path.write_bytes(path.read_bytes() + b"\0")
    home = hubless.Catalog(catalog)
    for version in home.version_ids("photos"):
        with pytest.raises(BundleDamaged) as caught:
            hubless.open(catalog, "photos", version=version)
        assert caught.value.path == path
    home.sweep("photos")
    assert path.exists()


def flipped(whole, count):
    """Yield bytes so many times, each with another bit that is not as it was."""
    rng = np.random.default_rng(0)
    for place, bit in zip(rng.integers(len(whole), size=count), rng.integers(8, size=count), strict=True):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(bit)
        yield damaged


def test_flipped_bit_of_the_manifest_is_noticed(folder):
    path = folder / "manifest.json"
    whole = path.read_bytes()
    for damaged in flipped(whole, 500):
        path.write_bytes(damaged)
        with pytest.raises(BundleError, match=r"manifest\.json"):
            read_manifest(folder)
    path.write_bytes(whole)
    assert read_manifest(folder).count == small.COUNT - 1 + 3


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1],
        lambda text: text + b"\n",
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b'": ', b'" : ', 1),
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: text.replace(b'"count"', b'"count": 1, "count"', 1),
        lambda text: re.sub(SEAL, b"", text),
        lambda text: re.sub(SEAL, rb"\g<0>\g<0>", text),
        lambda text: re.sub(SEAL, lambda line: line[0].upper(), text),
        lambda text: text[: len(text) // 2],
        lambda text: b"",
        lambda text: b"[]",
        lambda text: b"null",
        lambda text: b"[" * 100_000,
        lambda text: b'{"format_version": ' + b"9" * 5000 + b"}",
    ],
)
def test_manifest_that_is_not_to_the_byte_as_it_was_written_is_refused(catalog, folder, change):
    path = folder / "manifest.json"
    path.write_bytes(change(path.read_bytes()))
    refused(catalog, "manifest.json", hashes=False)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("kind", COUNTS)
def test_sealed_file_of_other_targets_is_refused_naming_both_counts(catalog, folder, kind, name, tmp_path):
    rows = COUNTS[kind] - 1
    given = (tmp_path / "other", "photos", small.targets()[:rows], small.query_bank())
    other = hubless.build(*given, payload=small.payload()[:rows], correction="none", index="flat")
    path_of(folder, f"{kind}/{name}").write_bytes(
        small.path_of(small.folder(tmp_path / "other", other), name).read_bytes()
    )
    small.reseal(folder)
    told = f"has the shape ({rows},)" if name == "offsets.npy" else f"holds {rows} targets"
    assert refused(catalog, f"{kind}/{name}") == f"{told}, the manifest says {COUNTS[kind]}"


@pytest.mark.parametrize(
    ("file", "array"),
    [
        ("built/occurrence.npy", np.zeros((2, small.COUNT - 1), np.int32)),
        ("built/occurrence.npy", np.zeros(small.COUNT, np.int32)),
        ("written/stamps.npy", np.zeros((2, 2), np.int64)),
        ("written/bare.npy", np.zeros(2, np.int64)),
        ("fit/bank_sample.npy", np.zeros((4, small.DIM + 1), np.float32)),
    ],
)
def test_sealed_array_of_another_shape_is_refused_naming_both(catalog, folder, file, array):
    np.save(path_of(folder, file), array)
    small.reseal(folder)
    assert re.fullmatch(r"has the shape \(.*\), the manifest says [\d×any ]+", refused(catalog, file))


def bits(*gone):
    return np.packbits(np.isin(np.arange(small.COUNT), gone), bitorder="little")


@pytest.mark.parametrize(
    ("arrays", "count"),
    [
        *((lambda built, gone=gone: {built: bits(*gone)}, len(gone)) for gone in ([], [0, 1], range(small.COUNT))),
        (lambda built: {"another": bits(0)}, 0),
        (lambda built: {}, 0),
        (None, 0),
    ],
)
def test_sealed_file_that_leaves_out_others_than_the_manifest_says_is_refused(catalog, folder, arrays, count):
    built = read_manifest(folder).segments[0].name
    (folder / "gone.npz").unlink()
    if arrays is not None:
        np.savez(folder / "gone.npz", **arrays(built))
    small.reseal(folder)
    assert refused(catalog, "gone.npz") == f"leaves {count} targets out of segment {built}, not 1"


@pytest.mark.parametrize("kind", COUNTS)
def test_ids_with_any_flipped_bit_are_refused_or_safe_to_read_even_without_hashes(catalog, folder, kind):
    path = path_of(folder, f"{kind}/ids.arrow")
    whole = path.read_bytes()
    refused = 0
    for damaged in flipped(whole, 100):
        path.unlink()  # the old file may still be mapped
        path.write_bytes(damaged)
        try:
            opened = hubless.open(catalog, "photos", hashes=False)
        except BundleDamaged:
            refused += 1
        else:
            assert all(isinstance(found, str) for found in opened.query(small.query_bank()[0], small.COUNT).ids[0])
            for wanted in [*small.IDS, "one", "two", "three"]:
                with suppress(PointNotFound):
                    assert 0 <= opened.point(wanted).row < opened.count
    assert 10 < refused < 90


@pytest.mark.parametrize("file", [*FILES, "manifest.json"])
def test_missing_file_is_named_though_a_folder_is_in_its_place(catalog, folder, file):
    if file == "manifest.json":
        (folder / file).unlink()
        for hashes in (True, False):
            with pytest.raises(BundleDamaged, match=r"manifest\.json: missing"):
                hubless.open(catalog, "photos", hashes=hashes)
        return
    path_of(folder, file).unlink()
    assert refused(catalog, file) == refused(catalog, file, hashes=False) == "missing"
    path_of(folder, file).mkdir()
    assert refused(catalog, file) == "missing"
    shutil.rmtree(path_of(folder, file).parent)
    if "/" in file:
        with pytest.raises(BundleDamaged, match="missing"):
            hubless.open(catalog, "photos")


def test_later_format_is_refused_with_what_to_do_though_its_content_is_unknown(catalog, folder):
    small.write_sealed(folder, {"format_version": 8, "what": {"comes": "later"}})
    with pytest.raises(UnsupportedBundle) as caught:
        hubless.open(catalog, "photos")
    assert caught.value.code == "unsupported_bundle"
    told = "made in format 8; this version reads 5 to 7: upgrade hubless"
    assert str(caught.value) == f"{folder / 'manifest.json'}: {told}"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        *(({"format_version": version}, "does not say its format version") for version in (0, -1, None, "1", 1.0, [1])),
        *(({field: ...}, field) for field in ("count", "metric", "files", "correction", "provenance", "fit", "built")),
        ({"segments": ...}, "segments"),
        ({"segments": []}, "segments"),
        ({"count": small.COUNT}, f"says {small.COUNT} targets, and the segments hold {small.COUNT + 2}"),
        ({"format_version": ...}, "does not say its format version"),
        ({"more": 1}, "more"),
        ({"index": {"type": "magic", "parameters": {}}}, "magic"),
        ({"index": {"parameters": {"k_factor": 3}}}, "parameters: expected none, as the index is flat, got k_factor"),
        ({"index": {"type": "hnsw"}}, "index.parameters: expected ef, as the index is hnsw, got none"),
        ({"index": {"aims": {"recall": 1, "memory": -1, "latency_ms": None}}}, "memory: expected a number of bytes"),
    ],
)
def test_sealed_manifest_of_other_fields_is_refused_naming_one(catalog, folder, change, told):
    content = small.read_plain(folder)
    for field, value in change.items():
        if value is ...:
            del content[field]
        elif field == "index":
            content[field] |= value
        else:
            content[field] = value
    small.write_sealed(folder, content)
    assert told in refused(catalog, "manifest.json")


@pytest.mark.parametrize(
    ("type_", "parameters", "of_segments", "told"),
    [
        ("flat", {}, "fastscan", "that its index is fastscan, and not flat"),
        ("flat", {}, "magic", "that its index is magic, and not flat"),
        ("fastscan", {"k_factor": 3}, "fastscan", "is an index IndexFlatIP, and not of the kind fastscan"),
        ("hnsw", {"ef": 16}, "hnsw", "is an index IndexFlatIP, and not of the kind hnsw"),
        ("ivf", {"nprobe": 0}, "ivf", "parameters.nprobe: expected a whole number of at least 1, got 0"),
        ("ivf", {"nprobe": "all"}, "ivf", "parameters.nprobe: expected a whole number of at least 1, got 'all'"),
    ],
)
def test_sealed_manifest_that_calls_an_index_by_another_kind_is_refused(
    catalog, folder, type_, parameters, of_segments, told
):
    content = small.read_plain(folder)
    content["index"] |= {"type": type_, "parameters": parameters}
    for segment in content["segments"]:
        segment["index"] = of_segments
    small.write_sealed(folder, content)
    with pytest.raises(BundleDamaged, match=re.escape(told)):
        hubless.open(catalog, "photos")


def pickled(path):
    array = np.array([{"any": "object"}], dtype=object)
    np.savez(path, allow_pickle=True, queries=array, bank=array) if path.suffix == ".npz" else np.save(path, array)


def read_all(catalog):
    """Open the version, and what is read later."""
    opened = hubless.open(catalog, "photos")
    opened.correction()
    opened.check_canaries()


PICKLED = None
CONTENTS = [b"", b"x", b"\x93NUMPY\x01\x00\xff\xff{", b"PK\x03\x04" + bytes(100), b"\x80\x04N.", PICKLED]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        (file, content)
        for file in FILES
        for content in CONTENTS
        if content is not PICKLED or file.endswith((".npy", ".npz"))
    ],
)
def test_sealed_file_of_another_kind_is_named_when_it_is_read_and_not_loaded(catalog, folder, file, content):
    path = path_of(folder, file)
    pickled(path) if content is PICKLED else path.write_bytes(content)
    small.reseal(folder)
    with pytest.raises(BundleDamaged) as caught:
        read_all(catalog)
    assert caught.value.path == path_of(folder, "fit/encoder.json" if file == "fit/encoder.npy" else file)
    assert content is not PICKLED or "pickled objects" in caught.value.problem
