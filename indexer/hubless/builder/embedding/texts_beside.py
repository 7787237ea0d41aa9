"""Texts about pictures that are there already: captions in files beside them, in their heads, and in their names.

People who look for pictures ask much like that, so such texts are the query bank of the first day.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hubless.builder.embedding.embed_sources import skipped_item
from hubless.errors import InputError, one_line
from hubless.vectors.listing import ending_of
from hubless.vectors.readers.csv_rows import CsvFile
from hubless.vectors.readers.places import MARKS

CAPTION, METADATA, HEAD, NAME = "caption", "metadata", "head", "name"
METADATA_FILES = ("metadata.jsonl", "metadata.csv")
"""As data sets of pictures have them: `file_name`, as seen from the file, and texts."""
_NOTHING = '{"file_name": "", "text": ""}'
_PATHS = ("file_name", "path", "image", "file")
_FIELDS = ("text", "caption", "captions", "title", "description", "alt")
# fmt: off
_OF_CAMERAS = frozenset([
    "camera", "copy", "dcim", "default", "digital", "dsc", "dscf", "dscn", "dji", "edited", "gopr", "image",
    "img", "imgp", "minolta", "mvi", "mvimg", "olympus", "photo", "pic", "picture", "pxl", "samsung",
    "screenshot", "sony", "untitled", "whatsapp",
])
# fmt: on
"""Words that cameras and programs write into names and heads, which say nothing of what is seen."""
_BREAKS = re.compile(r"(?<=[a-z])(?=[A-Z])|[\W_]+")
_LONGEST = 1000
"""Characters of a text that are kept. Encoders read fewer."""


class TextBeside(NamedTuple):
    """A text about a picture, and where it stands: caption, metadata, head or name."""

    text: str
    source: str


def words_of_name(path: str) -> str:
    """Return the words in the name of a file, or else of its folder: `img_red-boat (2).jpg` → `red boat`."""
    place = Path(path)
    for name in (place.stem, place.parent.name):
        words = [word.lower() for word in _BREAKS.split(name) if len(word) > 2 and word.isalpha()]
        if words := [word for word in words if word not in _OF_CAMERAS]:
            return " ".join(words)
    return ""


class TextsBeside:
    """The texts about pictures below a folder. Files of metadata are read once."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._metadata: dict[Path, dict[str, list[str]]] = {}
        self._skipped: list[dict[str, Any]] = []

    def taken(self) -> list[dict[str, Any]]:
        """Return what could not be read of the metadata since the last call."""
        found, self._skipped = self._skipped, []
        return found

    def of(self, name: str, in_head: list[str]) -> list[TextBeside]:
        """Return the texts about a picture, each once; words of its name only if there are no others."""
        path = self._base / name
        found = [TextBeside(text, CAPTION) for text in self._captions(path)]
        for folder in Path(name).parents:
            below = Path(name).relative_to(folder).as_posix()
            found += [TextBeside(text, METADATA) for text in self._of_folder(self._base / folder).get(below, ())]
        found += [TextBeside(text, HEAD) for text in in_head if words_of_name(text)]
        if not found and (words := words_of_name(name)):
            found = [TextBeside(words, NAME)]
        kept = {" ".join(each.text.split())[:_LONGEST]: each.source for each in reversed(found)}
        return [TextBeside(text, source) for text, source in reversed(kept.items()) if text]

    def _captions(self, path: Path) -> list[str]:
        for beside in (*map(path.with_suffix, (".txt", ".TXT")), path.with_name(f"{path.name}.txt")):
            if ending_of(path) != ".txt" and beside.is_file():
                return [line.strip() for line in self._reading(beside, _lines) if line.strip()]
        return []

    def _of_folder(self, folder: Path) -> dict[str, list[str]]:
        if folder not in self._metadata:
            files = [file for name in METADATA_FILES if (file := folder / name).is_file()]
            self._metadata[folder] = dict(row for file in files for row in self._read(file))
        return self._metadata[folder]

    def _read(self, file: Path) -> Iterator[tuple[str, list[str]]]:
        for number, line in enumerate(self._reading(file, _lines if ending_of(file) == ".jsonl" else _table), 1):
            try:
                row = json.loads(line or _NOTHING) if isinstance(line, str) else line
                path, *_ = [row[key] for key in _PATHS if key in row]
                if row.keys().isdisjoint(_FIELDS):
                    self._skip(file, f"no texts in {', '.join(_FIELDS)}")
                texts = [text for key in _FIELDS for text in _texts(row.get(key))]
                yield Path(str(path).replace("\\", "/")).as_posix(), texts
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                self._skip(file, "no object with file_name", f", line {number}")

    def _reading(self, file: Path, read: Callable[[Path], list[Any]]) -> list[Any]:
        """Return what is read of a file; nothing of one that cannot be read, which is listed as skipped."""
        try:
            return read(file)
        except (OSError, ValueError) as error:
            self._skip(file, error.received if isinstance(error, InputError) else one_line(error))
            return []

    def _skip(self, file: Path, why: str, where: str = "") -> None:
        self._skipped.append(skipped_item(f"{os.path.relpath(file, self._base)}{where}", why))


def _lines(file: Path) -> list[str]:
    """Return the lines of a text in UTF-8, or in UTF-16 with its mark. Raises `ValueError` for other bytes."""
    content = file.read_bytes()
    text = content.decode("utf-16" if content.startswith(MARKS) else "utf-8-sig")
    if "\0" in text:
        raise ValueError("no text in UTF-8")
    return text.splitlines()


def _table(file: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = CsvFile.open(file, file.name).table().to_pylist()
    return rows


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str) and text.strip()]
