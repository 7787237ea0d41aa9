"""Any damage to any file is an error that names the file, and nothing is half open."""

from contextlib import suppress

import numpy as np
import pytest
from support import small

import hubless
from hubless.errors import BundleDamaged, BundleError, PointNotFound, UnsupportedBundle
from hubless.store.bundle import read_manifest

FILES = [
    "bank_sample.npy",
    "canary.npz",
    "correction.npz",
    "encoder.json",
    "encoder.npy",
    "ids.arrow",
    "index.faiss",
    "occurrence.npy",
    "offsets.npy",
    "payload.arrow",
    "payload.parquet",
    "projection.npz",
]


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


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
def test_missing_file_is_named(catalog, folder, name):
    (folder / name).unlink()
    assert refused(catalog, name) == refused(catalog, name, hashes=False) == "missing"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("change", [-1, 1])
def test_file_shorter_or_longer_by_a_byte_is_named_with_both_sizes_even_without_hashes(catalog, folder, name, change):
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[:change] if change < 0 else data + b"\0")
    problem = f"has {len(data) + change} bytes, the manifest says {len(data)}"
    assert refused(catalog, name, hashes=False) == refused(catalog, name) == problem


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("place", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_flipped_bit_is_noticed_wherever_it_is(catalog, folder, name, place):
    data = bytearray((folder / name).read_bytes())
    data[round(place * (len(data) - 1))] ^= 1 << round(place * 7)
    (folder / name).write_bytes(data)
    assert "hash differs" in refused(catalog, name)


@pytest.mark.parametrize("name", FILES)
def test_folder_in_the_place_of_a_file_is_damage(catalog, folder, name):
    (folder / name).unlink()
    (folder / name).mkdir()
    assert refused(catalog, name) == "missing"


def test_files_that_the_manifest_does_not_know_are_harmless(catalog, folder):
    (folder / ".DS_Store").write_bytes(b"x")
    (folder / "extra.npy").write_bytes(b"x")
    small.check_complete(catalog)


def check_flips(folder, flips):
    path = folder / "manifest.json"
    whole = path.read_bytes()
    for place, bit in flips(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(bit)
        path.write_bytes(damaged)
        with pytest.raises(BundleError, match=r"manifest\.json"):
            read_manifest(folder)
    path.write_bytes(whole)
    assert read_manifest(folder).count == small.COUNT


def test_flipped_bit_of_the_manifest_is_noticed(folder):
    rng = np.random.default_rng(0)
    check_flips(folder, lambda size: zip(rng.integers(size, size=500), rng.integers(8, size=500), strict=True))


@pytest.mark.slow
def test_any_flipped_bit_of_the_manifest_is_noticed(folder):
    check_flips(folder, lambda size: ((place, bit) for place in range(size) for bit in range(8)))


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


def test_newer_format_is_refused_naming_both_formats_though_its_content_is_unknown(catalog, folder):
    small.write_sealed(folder, {"format_version": 7, "what": {"comes": "later"}})
    with pytest.raises(UnsupportedBundle) as caught:
        hubless.open(catalog, "photos")
    assert caught.value.code == "unsupported_bundle"
    assert str(caught.value) == f"{folder / 'manifest.json'}: has format 7, this hubless reads 3: upgrade hubless"


def test_older_format_is_refused_with_what_to_do(catalog, folder):
    small.write_sealed(folder, small.read_plain(folder) | {"format_version": 2})
    with pytest.raises(UnsupportedBundle, match="made by an older hubless: build it again"):
        hubless.open(catalog, "photos")


@pytest.mark.parametrize("version", [0, -1, None, "1", 1.0, True, [1]])
def test_format_that_never_was_is_refused(catalog, folder, version):
    small.write_sealed(folder, small.read_plain(folder) | {"format_version": version})
    assert refused(catalog, "manifest.json") == "does not say its format version"


def test_manifest_without_a_format_is_refused(catalog, folder):
    content = small.read_plain(folder)
    del content["format_version"]
    small.write_sealed(folder, content)
    assert refused(catalog, "manifest.json") == "does not say its format version"


@pytest.mark.parametrize("field", ["count", "metric", "files", "correction", "provenance"])
def test_sealed_manifest_without_a_field_is_refused_naming_it(catalog, folder, field):
    content = small.read_plain(folder)
    del content[field]
    small.write_sealed(folder, content)
    assert field in refused(catalog, "manifest.json")


def test_sealed_manifest_that_asks_for_what_no_build_takes_is_refused(catalog, folder):
    content = small.read_plain(folder)
    content["index"]["aims"]["memory"] = -1
    small.write_sealed(folder, content)
    with pytest.raises(BundleDamaged, match=r"manifest\.json: memory: expected a number of bytes"):
        hubless.open(catalog, "photos")


def test_sealed_manifest_with_an_unknown_field_or_index_is_refused(catalog, folder):
    content = small.read_plain(folder)
    small.write_sealed(folder, content | {"more": 1})
    assert "more" in refused(catalog, "manifest.json")
    small.write_sealed(folder, content | {"index": {"type": "magic", "parameters": {}}})
    assert "magic" in refused(catalog, "manifest.json")


@pytest.mark.parametrize("name", ["index.faiss", "offsets.npy", "ids.arrow", "payload.arrow", "encoder.npy"])
@pytest.mark.parametrize("content", [b"", b"x", b"\x93NUMPY\x01\x00\xff\xff{", b"PK\x03\x04", b"\x80\x04N."])
def test_sealed_file_of_another_kind_is_refused_naming_it(catalog, folder, name, content):
    (folder / name).write_bytes(content)
    small.reseal(folder)
    refused(catalog, "encoder.json" if name == "encoder.npy" else name)


@pytest.mark.parametrize("name", ["index.faiss", "offsets.npy", "ids.arrow", "payload.arrow"])
def test_sealed_file_of_other_targets_is_refused_naming_both_counts(catalog, folder, name, tmp_path):
    rows = small.COUNT - 1
    other = hubless.build(
        tmp_path / "other",
        "photos",
        small.targets()[:rows],
        small.query_bank(),
        payload=small.payload()[:rows],
        progress=False,
    )
    (folder / name).write_bytes((small.folder(tmp_path / "other", other) / name).read_bytes())
    small.reseal(folder)
    assert refused(catalog, name) == f"holds {rows} targets, the manifest says {small.COUNT}"


def pickled(path):
    array = np.array([{"any": "object"}], dtype=object)
    np.savez(path, allow_pickle=True, queries=array, bank=array) if path.suffix == ".npz" else np.save(path, array)


def test_pickle_in_offsets_is_refused_and_not_loaded(catalog, folder):
    pickled(folder / "offsets.npy")
    small.reseal(folder)
    assert "pickled objects" in refused(catalog, "offsets.npy")


def test_pickle_in_canaries_is_refused_and_not_loaded(catalog, folder):
    pickled(folder / "canary.npz")
    small.reseal(folder)
    opened = hubless.open(catalog, "photos")
    with pytest.raises(BundleDamaged, match=r"canary\.npz: cannot be read: .*pickled objects"):
        opened.check_canaries()


def test_pickle_in_the_correction_is_refused_and_not_loaded(catalog, folder):
    pickled(folder / "correction.npz")
    small.reseal(folder)
    opened = hubless.open(catalog, "photos")
    with pytest.raises(BundleDamaged, match=r"correction\.npz: cannot be read: .*pickled objects"):
        opened.correction()


def test_ids_with_any_flipped_bit_are_refused_or_safe_to_read_even_without_hashes(catalog, folder):
    whole = (folder / "ids.arrow").read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for place, bit in zip(rng.integers(len(whole), size=200), rng.integers(8, size=200), strict=True):
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
    assert 20 < refused < 180


@pytest.mark.parametrize("name", ["canary.npz", "correction.npz"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04" + bytes(100), b"\x93NUMPY"])
def test_archive_that_is_read_later_is_named_when_it_is_damaged(catalog, folder, name, content):
    (folder / name).write_bytes(content)
    small.reseal(folder)
    opened = hubless.open(catalog, "photos")
    with pytest.raises(BundleDamaged) as caught:
        opened.check_canaries() if name == "canary.npz" else opened.correction()
    assert caught.value.path.name == name
