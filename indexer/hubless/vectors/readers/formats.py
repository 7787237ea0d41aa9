"""The table of formats: what is read, as what, how it begins, and the line that converts what is not read."""

from enum import Flag, auto
from pathlib import Path
from typing import NamedTuple

from hubless.errors import InputError

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

    `{file}` stands for the name of a file, `{stem}` for the name without its ending.
    """

    name: str
    endings: tuple[str, ...]
    begins: tuple[bytes, ...] = ()
    use: Use = Use.NOTHING
    convert: str = ""


_ALL = Use.VECTORS | Use.SHARDS | Use.PAYLOAD
_ZIP = b"PK\x03\x04"

FILE_FORMATS = (
    Format("NumPy", (".npy",), (b"\x93NUMPY",), Use.VECTORS | Use.SHARDS),
    Format("zip", (".zip",), (_ZIP,), convert="unzip {file}"),
    Format("NumPy archive", (".npz",), (_ZIP, b"PK\x05\x06"), Use.VECTORS | Use.SHARDS),
    Format("Parquet", (".parquet",), (b"PAR1",), _ALL),
    Format("Arrow IPC", (".arrow", ".feather"), (b"ARROW1", b"\xff\xff\xff\xff"), _ALL),
    Format("CSV", (".csv", ".tsv"), (), Use.VECTORS | Use.PAYLOAD),
    Format("JSON lines", (".jsonl", ".ndjson"), (b"{",), Use.VECTORS | Use.PAYLOAD),
    Format("vecs of TEXMEX", (".fvecs", ".bvecs"), (), Use.VECTORS | Use.SHARDS),
    Format("Faiss index", (".faiss", ".index"), (b"IxF2", b"IxFI", b"IHNf", b"IwFl", b"IxMp", b"IxM2"), Use.VECTORS),
    Format("safetensors", (".safetensors",), (), Use.VECTORS | Use.SHARDS),
    Format(
        "HDF5",
        (".h5", ".hdf5", ".hdf"),
        (b"\x89HDF\r\n\x1a\n",),
        convert="python -c \"import h5py, numpy; numpy.save('{stem}.npy', h5py.File('{file}')['NAME'][:])\"",
    ),
    Format(
        "pickle",
        (".pkl", ".pickle", ".joblib"),
        tuple(b"\x80" + bytes([version]) for version in range(2, 6)),
        convert="python -c \"import numpy; numpy.save('{stem}.npy', numpy.load('{file}', allow_pickle=True))\", "
        "if you trust the file: it can run any program",
    ),
    Format(
        "torch",
        (".pt", ".pth"),
        convert="python -c \"import numpy, torch; numpy.save('{stem}.npy', torch.load('{file}').float().numpy())\"",
    ),
    Format(
        "row numbers of TEXMEX",
        (".ivecs",),
        convert="python -c \"import numpy; a = numpy.fromfile('{file}', 'i4'); "
        "numpy.save('{stem}.npy', a.reshape(-1, a[0] + 1)[:, 1:])\", which relevant takes",
    ),
    Format(
        "JSON",
        (".json",),
        (b"[",),
        convert="python -c \"import json; print(*map(json.dumps, json.load(open('{file}'))), sep=chr(10))\" "
        "> {stem}.jsonl",
    ),
    Format(
        "Excel",
        (".xlsx", ".xls"),
        (b"\xd0\xcf\x11\xe0",),
        convert="python -c \"import pandas; pandas.read_excel('{file}').to_csv('{stem}.csv', index=False)\"",
    ),
    Format(
        "text",
        (".txt", ".dat"),
        convert="python -c \"import numpy; numpy.save('{stem}.npy', numpy.loadtxt('{file}'))\"",
    ),
    Format("gzip", (".gz",), (b"\x1f\x8b",), convert="gunzip -k {file}"),
    Format("bzip2", (".bz2",), (b"BZh",), convert="bunzip2 -k {file}"),
    Format("xz", (".xz",), (b"\xfd7zXZ",), convert="unxz -k {file}"),
    Format("Zstandard", (".zst",), (b"\x28\xb5\x2f\xfd",), convert="unzstd {file}"),
)
_BY_ENDING = {ending: each for each in FILE_FORMATS for ending in each.endings}
_TEXTS = ("CSV", "JSON lines")
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
    named = _BY_ENDING.get(path.suffix.lower())
    found = next((each for each in FILE_FORMATS if head.startswith(each.begins)), None)
    if named is not None and use in named.use:
        marked = bool(named.begins) or named.name in _TEXTS  # other files may begin with any number
        if marked and found is not None and not head.startswith(named.begins or b"\0"):
            raise InputError(name, f"a readable {path.suffix} file", _said(found, path, use, head))
        return named
    expected = f"a file ending in {', '.join(endings_of(use))}"
    if named is not None and named.convert:
        raise InputError(name, f"{expected}; convert it: {_converting(named, path)}", f"{path.suffix}, {named.name}")
    got = path.suffix or "no ending"
    raise InputError(name, expected, got if found is None else f"{got}, {_said(found, path, use, head)}")


def _said(found: Format, path: Path, use: Use, head: bytes) -> str:
    shown = f" {head[:_SHOWN]!r}" if head.startswith((b"{", b"[")) else ""
    if use in found.use:
        return f"{found.name}{shown}; name it {path.stem}{found.endings[0]}"
    return f"{found.name}{shown}; convert it: {_converting(found, path)}"


def _converting(known: Format, path: Path) -> str:
    return known.convert.replace("{file}", path.name).replace("{stem}", path.stem)
