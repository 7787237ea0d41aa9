"""Files and folders that are no vectors, ids or payload, whatever reads them."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from support.refusals.shape import (
    LISTS,
    NUMBERS,
    TARGETS,
    content,
    folder_of,
    indexed,
    npy,
    npz,
    parquet,
    rows_of,
)

from hubless.errors import DimensionMismatch, StorageError

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1540224\n"
FEW, ROWS = [1.0, 2.0], TARGETS[:30, :4]


def archive(**members):
    """A zip file of these bytes, or of what becomes of those of a right array."""

    def write(folder):
        whole = npy("rows.npy", ROWS)(folder).read_bytes()
        with zipfile.ZipFile(folder / "t.npz", "w") as made:
            for name, written in members.items():
                made.writestr(name.replace("_", "."), written(whole) if callable(written) else written)
        return folder / "t.npz"

    return write


def arrays(**given):
    return lambda folder: np.savez(folder / "t.npz", **given) or folder / "t.npz"


def array_of(given, name):
    return lambda folder: f"{given(folder)}:{name}"


def safetensors(**given):
    """The format as it is written: the length of a header in JSON, the header, and the bytes."""
    offsets = np.cumsum([0, *(rows.nbytes for rows in given.values())]).tolist()
    header = {
        name: {"dtype": "F32", "shape": rows.shape, "data_offsets": offsets[number : number + 2]}
        for number, (name, rows) in enumerate(given.items())
    }
    text = json.dumps(header).encode()
    return content("t.safetensors", len(text).to_bytes(8, "little") + text + b"".join(map(bytes, given.values())))


OF_ARRAYS = rows_of(
    "fit",
    targets=[
        *(
            (write(f"t{ending}", rows), f"targets (t{ending}): expected {words}")
            for write, ending in ((npy, ".npy"), (npz, ".npz"))
            for rows, words in (
                *(
                    (np.ones((3, 4), kind), f"float16, float32 or float64, …, got {np.dtype(kind)}")
                    for kind in (np.int32, np.uint64, np.complex64, np.longdouble, bool)
                ),
                *(
                    (np.zeros((3, 4), kind), f"float16, float32 or float64, …, got {np.dtype(kind)}")
                    for kind in ("U3", "datetime64[s]", [("x", "f4")])
                ),
                *(
                    (np.ones(shape), f"a matrix, one row an item, got an array of shape {shape}")
                    for shape in [(), (4,), (2, 3, 4)]
                ),
            )
        ),
        *(
            (content(f"t{ending}", written), f"targets (t{ending}): expected a {words}")
            for ending in (".npy", ".npz", ".parquet")
            for written, words in (
                (b"", "file of vectors, got an empty file"),
                (b"id,vector\n1,2\n", f"readable {ending} file, got "),
                (bytes(1000), f"readable {ending} file, got "),
            )
        ),
        (arrays(a=ROWS, b=ROWS), "targets (t.npz): …a single array, or FILE.npz:NAME, got arrays ['a', 'b']"),
        (arrays(ids=NUMBERS), "targets (t.npz): expected an array named vectors, a single array, …, got arrays []"),
        (archive(vectors=b"abc"), "targets (t.npz): …got arrays []"),
        (archive(vectors_npy=lambda whole: whole[:-16]), "targets (t.npz): …as its header says, got 464"),
        (archive(vectors_npy=lambda whole: whole + b"1234"), "targets (t.npz): …as its header says, got 484"),
        (archive(vectors_npy=lambda whole: whole.replace(b"(30, 4), ", b"(-3, 4), ")), "targets (t.npz)"),
        (
            array_of(arrays(images=ROWS, texts=ROWS), "image"),
            "targets (t.npz): expected one of its arrays, got image; arrays ['images', 'texts']",
        ),
        (
            safetensors(a=ROWS, b=ROWS),
            "targets (t.safetensors): expected a matrix named vectors, or a single matrix, got matrices a, b",
        ),
        (
            content("t.safetensors", b"\x80\x04" + b"x" * 50),
            "targets (t.safetensors): expected a readable .safetensors",
        ),
        (
            indexed("t.faiss", TARGETS, "SQ8"),
            "targets (t.faiss): expected an index that keeps vectors as they are …, got IndexScalarQuantizer",
        ),
    ],
)
ONE_COLUMN = "targets (t.parquet): expected one list<float> column, or one named vector or embedding…, got"
OF_TABLES = rows_of(
    "fit",
    targets=[
        *(
            (parquet("t.parquet", **columns), f"{ONE_COLUMN} {got}")
            for columns, got in (
                ({"other": [[1, 2]]}, "columns other, none of them a list of floats"),
                ({"vector": [1.0]}, "columns vector, none of them a list of floats"),
                ({"vector": [["1.0"]]}, "columns vector, none of them a list of floats"),
                ({"vector": [[[1.0]]]}, "columns vector, none of them a list of floats"),
                ({}, "columns none, none of them a list of floats"),
                ({"a": [[1.0]], "b": [[1.0]]}, "list columns a, b"),
            )
        ),
        (
            parquet("t.parquet", pa.table([[FEW], [FEW]], ["vector", "vector"])),
            "targets (t.parquet): …got columns vector, vector",
        ),
        (
            parquet("t.parquet", **{f"f_{row}_x": [1.0] for row in range(512)}),
            "targets (t.parquet): …if they are a dimension each, name them e0 to e511…"
            "got 512 columns of numbers: f_0_x, ",
        ),
        (
            content("t.csv", "title,year\nboat,1984\n"),
            "targets (t.csv): …texts have to be encoded first, and other fields are payload, got columns title, year",
        ),
    ],
)


def shard(name, rows=30, **more):
    return parquet(f"{name}.parquet", vector=LISTS[:rows], **more)


OF_FOLDERS = rows_of(
    "fit",
    targets=[
        *(
            (folder_of("s", content("README.txt", "nothing"), *files), f"targets (s)…{words}", *error)
            for files, words, *error in (
                ([], ".safetensors files, got a folder without any"),
                ([npy("a.npy", TARGETS), shard("b")], ": expected shards of one kind, got .npy and .parquet"),
                (
                    [shard("a", id=NUMBERS[:30]), shard("b")],
                    ": expected ids in all shards or in none, got ids in 1 of 2",
                ),
                (
                    [npz("a.npz", TARGETS[:30], ids=NUMBERS[:30]), npz("b.npz", TARGETS[:1], ids=["x"])],
                    ": expected ids of one type in all shards, got numbers and strings",
                ),
                (
                    [shard("a", title=["x"] * 30), shard("b", year=[1] * 30)],
                    "b.parquet: expected the payload columns title, got year",
                ),
                (
                    [shard("a", 2, p=["x", "y"]), shard("b", 2, p=[1, 2])],
                    "b.parquet: expected columns of …, got …Field p has incompatible types: string vs int64",
                ),
                (
                    [shard("a", 2, p=[2**53 + 1, 2]), shard("b", 2, p=[0.5, 1.5])],
                    "a.parquet, column p: expected values of double, got Integer value 90071992547",
                ),
                *(
                    (
                        [write(f"a{ending}", ROWS), write(f"b{ending}", ROWS[:, :3])],
                        f" (b{ending}): expected 4 dimensions, as targets (s) (a{ending}) has, got 3 dimensions",
                        DimensionMismatch,
                    )
                    for write, ending in ((npy, ".npy"), (npz, ".npz"))
                ),
            )
        ),
        (
            folder_of("s", content("dataset_dict.json", '{"splits": ["train"]}')),
            "targets (s): expected one of its splits, such as its folder train",
        ),
    ],
)
OF_STAND_INS = rows_of(
    "fit",
    *(
        (
            {name: content(file, LFS), **more},
            f"…{file}…: expected the file itself, got a pointer of Git LFS: fetch …pull",
        )
        for name, file, more in (
            *(("targets", f"t{ending}", {}) for ending in (".npy", ".npz", ".parquet")),
            ("query_bank", "b.npy", {}),
            ("target_bank", "b.npy", {"correction": "dual_is"}),
            *(("ids", f"i{ending}", {}) for ending in (".txt", ".npy")),
            *(("payload", f"p{ending}", {}) for ending in (".csv", ".jsonl")),
            ("target_prior", "p.txt", {"correction": "sn"}),
            ("relevant", "r.json", {"correction": "sn"}),
        )
    ),
    targets=[
        (folder_of("s", npy("0.npy", TARGETS), content("1.npy", LFS)), "…1.npy…got a pointer of Git LFS"),
        (content("t.npy", b"/annex/objects/SHA256E-s1540224--00.npy\n"), "targets (t.npy)…git annex get"),
        (content("t.npy", b"<!DOCTYPE HTML><title>Sign in</title>"), "targets (t.npy)…a web page"),
        (content("t.npy", b"<HTML><body>Not found</body></HTML>"), "targets (t.npy)…a web page"),
    ],
    target_bank=[
        (Path("https://host/t.npy"), "https://host/t.npy: target bank: there is no such file", StorageError),
        (Path("s3://bucket/t.npy"), "target bank: expected a file on this machine: …, got s3://bucket/t.npy"),
    ],
    relevant=[
        (folder_of("labels.txt"), "…labels.txt: relevant: there is no such file, but a folder", StorageError),
        (lambda folder: folder / "x.txt", "…x.txt: relevant: there is no such file", StorageError),
    ],
)
ROWS_OF_FILES = [*OF_ARRAYS, *OF_TABLES, *OF_FOLDERS, *OF_STAND_INS]
