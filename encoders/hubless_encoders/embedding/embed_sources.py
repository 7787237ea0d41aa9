"""Sources of an embedding: the pictures or files of a folder, or the rows of a file. Of files only names are read."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from hubless.errors import InputError, StorageError, UnknownField, names_of, one_line, storage_errors
from hubless.vectors.listing import ending_of, is_data, natural_order
from hubless.vectors.payload import open_payload, parted_ids
from hubless.vectors.readers.pictures import PICTURE_FORMATS
from hubless.vectors.readers.plain_files import A_LINK

ITEM_KINDS = PICTURES, FILES, TEXTS = "pictures", "files", "texts"
PICTURE_ENDINGS = tuple(ending for each in PICTURE_FORMATS.values() for ending in each.endings)
BESIDE_PICTURES = (".txt", ".json", ".jsonl", ".csv", ".xmp")
"""Endings of what often stands beside pictures and is none: it is not listed as skipped."""
_COLUMNS = {PICTURES: ("path", "file_name", "image", "file"), TEXTS: ("text", "caption", "title", "content")}
"""Columns that are taken where no name is given, the first that is there."""


@dataclass(frozen=True, kw_only=True)
class EmbedSource:
    """Items that can be embedded: the id of each, and its text or the path of its file below `base`."""

    kind: str
    base: Path
    ids: Sequence[str | int]
    contents: Sequence[str]
    payload: pa.Table | None = None
    """Columns (n,) that come with the items."""
    skipped: Sequence[dict[str, Any]] = ()
    """What stands in the folder and is of another kind."""

    def __len__(self) -> int:
        return len(self.ids)

    def stamps(self, recipe: str) -> dict[str | int, str]:
        """Return by id a hash that changes with the text, the columns, the stamps of the files, or the recipe."""
        rows = [None] * len(self) if self.payload is None else self.payload.to_pylist()
        found = {}
        for item, content, row in zip(self.ids, self.contents, rows, strict=True):
            names = (content, f"{content}.txt", f"{content.rpartition('.')[0]}.txt") if self.kind != TEXTS else ()
            said = f"{recipe} {content} {row} {[_stamp(self.base / name) for name in names]}"
            found[item] = hashlib.sha256(said.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        return found


def open_embed_source(source: Path, kind: str | None = None, column: str | None = None) -> EmbedSource:
    """Return what a folder or a file has: of a folder with pictures these, of any other its files; of a file texts.

    Raises `InputError` for a kind that there is not, and if nothing is there; `StorageError` for what is missing.
    """
    if kind not in (None, *ITEM_KINDS):
        raise InputError("kind", f"one of {', '.join(ITEM_KINDS)}", kind)
    if not source.exists():
        raise StorageError(source, "source: there is no such file or folder")
    if source.is_dir():
        if kind == TEXTS or column is not None:
            wrong = "kind" if kind == TEXTS else "column"
            raise InputError(wrong, "none of a folder: give a file of texts", str(kind if kind == TEXTS else column))
        names, left_out = _below(source)
        if kind is None:
            kind = PICTURES if any(ending_of(name) in PICTURE_ENDINGS for name in names) else FILES
        of_files = EmbedSource(kind=FILES, base=source, ids=names, contents=names)
        found = _pictures(source, names) if kind == PICTURES else of_files
        found = replace(found, skipped=[*left_out, *found.skipped])
    else:
        found = _rows(source, kind or TEXTS, column)
    if not len(found):
        raise InputError("source", f"at least one item, of {found.kind}", f"{source} with none")
    return found


def _below(folder: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the files at any depth, as paths with slashes, in natural order; and folders that are left out."""

    def failed(error: OSError) -> None:
        with storage_errors(folder):
            raise error

    found = []
    left_out = []
    for here, folders, files in os.walk(folder, onerror=failed):
        place = Path(here).relative_to(folder)
        others = {name: "a folder that is hidden, or that programs make" for name in folders if not is_data(name)}
        others |= {name: A_LINK for name in folders if (folder / place / name).is_symlink()}
        left_out += [skipped_item((place / name).as_posix(), why) for name, why in sorted(others.items())]
        folders[:] = [name for name in folders if name not in others]
        found += [(place / name).as_posix() for name in files if is_data(name)]
    return sorted(found, key=natural_order), left_out


def _pictures(folder: Path, names: list[str]) -> EmbedSource:
    chosen = [name for name in names if ending_of(name) in PICTURE_ENDINGS]
    others = [name for name in names if ending_of(name) not in (*PICTURE_ENDINGS, *BESIDE_PICTURES)]
    expected = f"expected an ending of pictures, {', '.join(PICTURE_ENDINGS)}"
    skipped = [skipped_item(name, f"{expected}, got {ending_of(name) or 'none'}") for name in others]
    return EmbedSource(kind=PICTURES, base=folder, ids=chosen, contents=chosen, skipped=skipped)


def skipped_item(item: str | int, why: str) -> dict[str, Any]:
    """Return what is written of an item that has no vector."""
    return {"id": item, "why": why}


def _rows(file: Path, kind: str, column: str | None) -> EmbedSource:
    """Return the lines of a `.txt`, or the rows of a table: a column, with its ids or row numbers, and all columns."""
    if ending_of(file) == ".txt":
        if column is not None:
            raise InputError("column", "none of a .txt file, which has lines", column)
        try:
            lines = file.read_text("utf-8-sig").split("\n")
        except (OSError, UnicodeError) as error:
            raise InputError("source", "lines of text in UTF-8", f"{file}: {one_line(error)}") from error
        table = None
        ids = None
        contents = lines[:-1] if lines[-1] == "" else lines
        if kind == TEXTS:
            table = pa.table({"text": pa.array(contents, pa.string())})
    else:
        opened = open_payload(file)
        given, columns = parted_ids(opened)
        chosen = _column(opened.schema, columns, kind, column)
        table = opened.to_table(columns=columns)
        ids = None if given is None else given.to_pylist()
        contents = [text or "" for text in table.column(chosen).to_pylist()]
    if ids is None:
        ids = contents if kind != TEXTS else list(range(len(contents)))
    if kind != TEXTS and len(set(ids)) < len(ids):
        raise InputError("source", "each path once", f"{file} with {len(ids) - len(set(ids))} twice")
    return EmbedSource(kind=kind, base=file.parent, ids=ids, contents=contents, payload=table)


def _column(schema: pa.Schema, columns: Sequence[str], kind: str, wanted: str | None) -> str:
    texts = [name for name in columns if _is_text(schema.field(name).type)]
    if wanted is not None:
        if wanted not in texts:
            raise UnknownField("column", f"a column of texts, {names_of(texts)}", wanted)
        return wanted
    usual = [name for name in _COLUMNS.get(kind, _COLUMNS[PICTURES]) if name in texts]
    if not usual and len(texts) != 1:
        raise InputError("column", f"the column to embed, one of {names_of(texts)}", "nothing")
    return (usual or texts)[0]


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _stamp(path: Path) -> str:
    try:
        stat = path.lstat()
    except (OSError, ValueError):
        return "gone"  # which is listed when it is read
    return f"{stat.st_size} {stat.st_mtime_ns}"
