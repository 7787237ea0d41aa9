from contextlib import suppress

import numpy as np
import pytest
from support import small

import hubless
from hubless.errors import BundleDamaged, BundleError, PointNotFound, UnsupportedBundle
from hubless.store.bundle import read_manifest

ARRAYS = ["bank_sample.npy", "canary.npz", "confidence.npz", "correction.npz", "encoder.npy", "occurrence.npy"]
FILES = [*ARRAYS, "offsets.npy", "encoder.json", "ids.arrow", "index.faiss", "payload.arrow"]


def refused(catalog, name, **options):
    with pytest.raises(BundleDamaged) as caught:
        hubless.open(catalog, "photos", **options)
    assert caught.value.path.name == name
    assert caught.value.code == "bundle_damaged"
    assert "\n" not in str(caught.value)
    return caught.value.problem


def test_whole_bundle_has_these_files_and_opens(catalog, folder):
    assert sorted(file.name for file in folder.iterdir()) == sorted([*FILES, "manifest.json"])
    small.check_complete(catalog)
    assert hubless.open(catalog, "photos", hashes=False).count == small.COUNT


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("change", [-1, 1])
def test_file_shorter_or_longer_by_a_byte_is_named_with_both_sizes_even_without_hashes(catalog, folder, name, change):
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[:change] if change < 0 else data + b"\0")
    problem = f"has {len(data) + change} bytes, the manifest says {len(data)}"
    assert refused(catalog, name, hashes=False) == refused(catalog, name) == problem


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
def test_flipped_bit_is_noticed_wherever_it_is(catalog, folder, name, place):
    data = bytearray((folder / name).read_bytes())
    data[round(place * (len(data) - 1))] ^= 1 << round(place * 7)
    (folder / name).write_bytes(data)
    assert "hash differs" in refused(catalog, name)


def test_flipped_bit_of_the_manifest_is_noticed(folder):
    path, rng = folder / "manifest.json", np.random.default_rng(0)
    whole = path.read_bytes()
    for place, bit in zip(rng.integers(len(whole), size=500), rng.integers(8, size=500), strict=True):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(bit)
        path.write_bytes(damaged)
        with pytest.raises(BundleError, match=r"manifest\.json"):
            read_manifest(folder)
    path.write_bytes(whole)
    assert read_manifest(folder).count == small.COUNT


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1],
        lambda text: text + b"\n",
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b'": ', b'" : ', 1),
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: text.replace(b'"count"', b'"count": 1, "count"', 1),
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


@pytest.mark.parametrize("name", ["index.faiss", "offsets.npy", "ids.arrow", "payload.arrow", "encoder.npy"])
@pytest.mark.parametrize("content", [b"", b"x", b"\x93NUMPY\x01\x00\xff\xff{", b"PK\x03\x04", b"\x80\x04N."])
def test_sealed_file_of_another_kind_is_refused_naming_it(catalog, folder, name, content):
    (folder / name).write_bytes(content)
    small.reseal(folder)
    refused(catalog, "encoder.json" if name == "encoder.npy" else name)


@pytest.mark.parametrize("name", ["index.faiss", "offsets.npy", "ids.arrow", "payload.arrow"])
def test_sealed_file_of_other_targets_is_refused_naming_both_counts(catalog, folder, name, tmp_path):
    rows = small.COUNT - 1
    given = (tmp_path / "other", "photos", small.targets()[:rows], small.query_bank())
    other = hubless.build(*given, payload=small.payload()[:rows])
    (folder / name).write_bytes((small.folder(tmp_path / "other", other) / name).read_bytes())
    small.reseal(folder)
    assert refused(catalog, name) == f"holds {rows} targets, the manifest says {small.COUNT}"


def test_ids_with_any_flipped_bit_are_refused_or_safe_to_read_even_without_hashes(catalog, folder):
    whole = (folder / "ids.arrow").read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for place, bit in zip(rng.integers(len(whole), size=100), rng.integers(8, size=100), strict=True):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(bit)
        (folder / "ids.arrow").unlink()  # the old file may still be mapped
        (folder / "ids.arrow").write_bytes(damaged)
        try:
            opened = hubless.open(catalog, "photos", hashes=False)
        except BundleDamaged:
            refused += 1
        else:
            assert all(isinstance(found, str) for found in opened.query(small.query_bank()[0], small.COUNT).ids[0])
            for wanted in small.IDS:
                with suppress(PointNotFound):
                    assert 0 <= opened.point(wanted).row < small.COUNT
    assert 10 < refused < 90


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
def test_missing_file_is_named_though_a_folder_is_in_its_place(catalog, folder, name):
    (folder / name).unlink()
    assert refused(catalog, name) == refused(catalog, name, hashes=False) == "missing"
    if name != "manifest.json":
        (folder / name).mkdir()
        assert refused(catalog, name) == "missing"


@pytest.mark.parametrize(
    ("version", "problem"),
    [(3, "made by an older hubless: build it again"), (7, "has format 7, this hubless reads 4: upgrade hubless")],
)
def test_other_format_is_refused_with_what_to_do_though_its_content_is_unknown(catalog, folder, version, problem):
    small.write_sealed(folder, {"format_version": version, "what": {"comes": "later"}})
    with pytest.raises(UnsupportedBundle) as caught:
        hubless.open(catalog, "photos")
    assert caught.value.code == "unsupported_bundle"
    assert str(caught.value) == f"{folder / 'manifest.json'}: {problem}"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        *(({"format_version": version}, "does not say its format version") for version in (0, -1, None, "1", 1.0, [1])),
        *(({field: ...}, field) for field in ("count", "metric", "files", "correction", "provenance")),
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


def pickled(path):
    array = np.array([{"any": "object"}], dtype=object)
    np.savez(path, allow_pickle=True, queries=array, bank=array) if path.suffix == ".npz" else np.save(path, array)


def read_all(catalog):
    """Open the version, and what is read later."""
    opened = hubless.open(catalog, "photos")
    opened.correction()
    opened.check_canaries()


@pytest.mark.parametrize("name", ["offsets.npy", "canary.npz", "correction.npz"])
@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04" + bytes(100), b"\x93NUMPY"])
def test_arrays_that_are_damaged_or_pickled_are_named_when_they_are_read_and_not_loaded(catalog, folder, name, content):
    pickled(folder / name) if content is None else (folder / name).write_bytes(content)
    small.reseal(folder)
    with pytest.raises(BundleDamaged) as caught:
        read_all(catalog)
    assert caught.value.path.name == name
    assert content is not None or "pickled objects" in caught.value.problem
