"""The table of formats: what is read, as what, how it begins, and the line that converts what is not read."""

import re
from enum import Flag, auto
from pathlib import Path
from typing import NamedTuple

from hubless.errors import InputError
from hubless.vectors.readers.places import converting

_BEGINNING = 512
"""Bytes of a file that are looked at."""


class Use(Flag):
    """The content that files of a format may hold."""

    NOTHING = 0
    VECTORS = auto()
    SHARDS = auto()
    PAYLOAD = auto()


class Format(NamedTuple):
    """A format: what it is called, its endings, how its files begin, what they are read as, and how to convert them.

    `{file}` stands for a file, `{stem}` for what is made of it, which ends in `ending`, or has lost that of the file.
    """

    name: str
    endings: tuple[str, ...]
    begins: tuple[bytes, ...] = ()
    use: Use = Use.NOTHING
    convert: str = ""


_ALL = Use.VECTORS | Use.SHARDS | Use.PAYLOAD
_ROWS = Use.VECTORS | Use.SHARDS
_TABLE = Use.VECTORS | Use.PAYLOAD
_ZIP = b"PK\x03\x04"

FILE_FORMATS = (
    Format("NumPy", (".npy",), (b"\x93NUMPY",), _ROWS),
    Format("zip", (".zip",), (_ZIP,), convert="python -m zipfile -e {file} {stem}"),
    Format("NumPy archive", (".npz",), (_ZIP, b"PK\x05\x06"), _ROWS),
    Format("Parquet", (".parquet",), (b"PAR1",), _ALL),
    Format("Arrow IPC", (".arrow", ".feather"), (b"ARROW1", b"\xff\xff\xff\xff"), _ALL),
    Format("CSV", (".csv", ".tsv"), (), _TABLE),
    Format("JSON lines", (".jsonl", ".ndjson"), (b"{",), _TABLE),
    Format("JSON", (".json",), (b"[", b"{"), _TABLE),
    Format("vecs of TEXMEX", (".fvecs", ".bvecs"), (), _ROWS),
    Format("Faiss index", (".faiss", ".index"), (b"IxF2", b"IxFI", b"IHNf", b"IwFl", b"IxMp", b"IxM2"), Use.VECTORS),
    Format("safetensors", (".safetensors",), (), _ROWS),
    Format("pickle", (".pkl", ".pickle"), tuple(b"\x80" + bytes([version]) for version in range(2, 6)), Use.VECTORS),
    Format(
        "HDF5",
        (".h5", ".hdf5", ".hdf"),
        (b"\x89HDF\r\n\x1a\n",),
        convert='python -c "import h5py, numpy, sys; found = {}; h5py.File(sys.argv[1]).visititems(lambda name, each: '
        "found.update({name.replace('/', '-'): each[:]}) if getattr(each, 'ndim', 0) == 2 else None); "
        'numpy.savez(sys.argv[2], **found)" {file} {stem}.npz',
    ),
    Format(
        "joblib",
        (".joblib",),
        convert="python -c \"import joblib, json, sys; json.dump(joblib.load(sys.argv[1]), open(sys.argv[2], 'w'), "
        'default=lambda found: found.tolist())" {file} {stem}.json, if you trust the file: it can run any program',
    ),
    Format(
        "torch",
        (".pt", ".pth"),
        convert="python -c \"import json, sys, torch; json.dump(torch.load(sys.argv[1], map_location='cpu'), "
        "open(sys.argv[2], 'w'), default=lambda found: found.tolist())\" {file} {stem}.json",
    ),
    Format(
        "row numbers of TEXMEX",
        (".ivecs",),
        convert="python -c \"import numpy, sys; a = numpy.fromfile(sys.argv[1], 'i4'); "
        'numpy.save(sys.argv[2], a.reshape(-1, a[0] + 1)[:, 1:])" {file} {stem}.npy, which relevant takes',
    ),
    Format(
        "bin of BigANN",
        (".fbin", ".u8bin", ".i8bin"),
        convert='python -c "import numpy, sys; f = sys.argv[1]; '
        "kind = {'f': 'f4', 'u': 'u1', 'i': 'i1'}[f[f.rindex('.') + 1].lower()]; numpy.save(sys.argv[2], "
        "numpy.fromfile(f, kind, offset=8).reshape(numpy.fromfile(f, 'i4', 2)))\" {file} {stem}.npy",
    ),
    Format(
        "row numbers of BigANN",
        (".ibin",),
        convert="python -c \"import numpy, sys; a = numpy.fromfile(sys.argv[1], 'i4'); "
        'numpy.save(sys.argv[2], a[2 : 2 + a[0] * a[1]].reshape(a[:2]))" {file} {stem}.npy, which relevant takes',
    ),
    Format(
        "Excel",
        (".xlsx", ".xls"),
        (b"\xd0\xcf\x11\xe0",),
        convert='python -c "import pandas, sys; pandas.read_excel(sys.argv[1]).to_csv(sys.argv[2], index=False)" '
        "{file} {stem}.csv",
    ),
    Format(
        "word vectors",
        (".vec",),
        convert="python -c \"import json, sys; made = open(sys.argv[2], 'w'); "
        "rows = map(str.split, open(sys.argv[1], encoding='utf-8')); [print(json.dumps({'id': row[0], "
        "'vector': [*map(float, row[1:])]}), file=made) for row in rows if len(row) > 2]\" {file} {stem}.jsonl",
    ),
    Format(
        "numbers",
        (".dat",),
        convert="python -c \"import numpy, sys; numpy.save(sys.argv[2], numpy.loadtxt(line.replace(',', ' ') "
        'for line in open(sys.argv[1])))" {file} {stem}.npy',
    ),
    Format("gzip", (".gz",), (b"\x1f\x8b",), convert="gunzip < {file} > {stem}"),
    Format("bzip2", (".bz2",), (b"BZh",), convert="bunzip2 < {file} > {stem}"),
    Format("xz", (".xz",), (b"\xfd7zXZ",), convert="unxz < {file} > {stem}"),
    Format("Zstandard", (".zst",), (b"\x28\xb5\x2f\xfd",), convert="unzstd < {file} > {stem}"),
)
_BY_ENDING = {ending: each for each in FILE_FORMATS for ending in each.endings}
_TEXTS = ("CSV", "JSON lines")
_OF_TEXTS = {
    ".dat": re.compile(rb"\s*(?:[-+]?\.?\d[^\s,]*(?:[\s,]+|$)){3}"),
    ".vec": re.compile(rb"(?:\d+ \d+\s+)?\S+(?:[ \t]+[-+]?\.?\d\S*){2}"),
}
"""Beginnings of a `.txt` of vectors, and the ending that says what it is: numbers alone, or a name before them."""
_SHOWN = 60
"""Bytes of a text in an error: it may be the answer of a server, which says what failed."""


def endings_of(use: Use) -> tuple[str, ...]:
    """Return the endings of the files that may hold something, in the order of the table."""
    return tuple(ending for each in FILE_FORMATS if use in each.use for ending in each.endings)


def format_of(path: Path, name: str, use: Use) -> Format:
    """Return the format of a file by its ending, which what it begins with may not contradict.

    Raises `InputError` with the line that converts the file, or what its ending should be.
    """
    with path.open("rb") as file:
        head = file.read(_BEGINNING)
    named = _by_ending(path.suffix.lower(), head)
    found = next((each for each in FILE_FORMATS if head.startswith(each.begins)), None)
    if named is not None and use in named.use:
        marked = bool(named.begins) or named.name in _TEXTS  # other files may begin with any number
        if marked and found is not None and not head.startswith(named.begins or b"\0"):
            raise InputError(name, f"a readable {path.suffix} file", _said(found, path, use, head))
        return named
    expected = f"a file ending in {', '.join(endings_of(use))}"
    if named is not None and named.convert:
        raise InputError(name, f"{expected}; {_converted(named, path)}", f"{path.suffix}, {named.name}")
    got = path.suffix or "no ending"
    raise InputError(name, expected, got if found is None else f"{got}, {_said(found, path, use, head)}")


def _by_ending(ending: str, head: bytes) -> Format | None:
    if ending == ".txt":
        ending = next((each for each, pattern in _OF_TEXTS.items() if pattern.match(head)), ending)
    return _BY_ENDING.get(ending)


def _said(found: Format, path: Path, use: Use, head: bytes) -> str:
    shown = f" {head[:_SHOWN]!r}" if head.startswith((b"{", b"[")) else ""
    todo = f"name it {path.stem}{found.endings[0]}" if use in found.use else _converted(found, path)
    return f"{found.name}{shown}; {todo}"


def _converted(known: Format, path: Path) -> str:
    stem = f"{path.stem}-converted" if path.suffix.lower() in ("", *endings_of(Use.VECTORS)) else path.stem
    return converting(known.convert, path, path.with_name(stem))
