"""Pointers and pages that stand in for files are named as what they are, whatever reads them."""

from pathlib import Path

import numpy as np
import pytest
from support import small

import hubless
from hubless.errors import InputError, StorageError
from hubless.vectors.fetched import fetched_file

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1540224\n"
TOLD = "expected the file itself, got a pointer of Git LFS: fetch the file by `git lfs pull`"


def fit(**given):
    return hubless.Index(metric="cosine", correction="sn").fit(**({"query_bank": small.query_bank()} | given))


READERS = {
    "targets in npy": ("t.npy", lambda path: fit(targets=path)),
    "targets in npz": ("t.npz", lambda path: fit(targets=path)),
    "targets in parquet": ("t.parquet", lambda path: fit(targets=path)),
    "a shard": ("t/1.npy", lambda path: fit(targets=path.parent)),
    "query bank": ("b.npy", lambda path: fit(targets=small.targets(), query_bank=path)),
    "target bank": ("b.npy", lambda path: fit(targets=small.targets(), target_bank=path)),
    "ids in txt": ("i.txt", lambda path: fit(targets=small.targets(), ids=path)),
    "ids in npy": ("i.npy", lambda path: fit(targets=small.targets(), ids=path)),
    "payload in csv": ("p.csv", lambda path: fit(targets=small.targets(), payload=path)),
    "payload in jsonl": ("p.jsonl", lambda path: fit(targets=small.targets(), payload=path)),
    "prior": ("p.txt", lambda path: fit(targets=small.targets(), target_prior=path)),
    "labels": ("r.json", lambda path: fit(targets=small.targets(), relevant=path)),
}


@pytest.mark.parametrize("reader", READERS)
def test_pointer_of_git_lfs_is_named_whatever_reads_it(tmp_path, reader):
    name, read = READERS[reader]
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    if path.parent != tmp_path:
        np.save(path.parent / "0.npy", small.targets())
    path.write_bytes(LFS)
    with pytest.raises(InputError, match=TOLD) as caught:
        read(path)
    assert path.name in str(caught.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"/annex/objects/SHA256E-s1540224--00.npy\n", "git annex get"),
        (b"<!DOCTYPE HTML><title>Sign in</title>", "a web page"),
        (b"<HTML><body>Not found</body></HTML>", "a web page"),
    ],
)
def test_other_stand_ins_are_named(tmp_path, content, told):
    (tmp_path / "t.npy").write_bytes(content)
    with pytest.raises(InputError, match=told):
        fetched_file(tmp_path / "t.npy", "targets")


@pytest.mark.parametrize("address", ["s3://bucket/t.npy", "https://host/t.npy"])
def test_address_is_told_with_both_slashes_though_paths_have_one(address):
    with pytest.raises(StorageError, match=f"^{address}: targets: there is no such file$"):
        fetched_file(Path(address), "targets")


def test_what_is_no_file_is_no_file(tmp_path):
    (tmp_path / "labels.txt").mkdir()
    for name, told in (("labels.txt", "there is no such file, but a folder"), ("x.txt", "there is no such file$")):
        with pytest.raises(StorageError, match=f"relevant: {told}"):
            fit(targets=small.targets(), relevant=tmp_path / name)
