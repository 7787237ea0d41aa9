"""Texts about pictures that are there already: captions in files beside them, in their heads, and in their names.

People who look for pictures ask much like that, so such texts are the query bank of the first day.
"""

import csv
import errno
import json
import re
from collections.abc import Collection, Iterator
from functools import partial
from io import BytesIO, TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from hubless.errors import one_line
from hubless.vectors.listing import ending_of
from hubless.vectors.readers.csv_rows import DELIMITERS
from hubless.vectors.readers.places import MARKS
from hubless.vectors.readers.plain_files import read_below
from hubless_encoders.embedding.embed_sources import skipped_item

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
MOST_TEXTS = 100
"""Texts of a picture that are kept."""
_MOST_OF_CAPTIONS, _MOST_OF_METADATA = 2**20, 2**27
"""Bytes of a file. A larger one is skipped."""
_MOST_OF_LINE = 2**20
"""Characters. At a longer line the rest of a file is left out."""


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
    """The texts about the pictures below a folder that strangers may fill. Files of metadata are read once."""

    def __init__(self, base: Path, pictures: Collection[str]) -> None:
        self._base = base
        self._pictures = frozenset(map(Path, pictures))
        self._metadata: dict[Path, dict[Path, list[str]]] = {}
        self._skipped: dict[tuple[Path, str], dict[str, Any]] = {}

    def taken(self) -> list[dict[str, Any]]:
        """Return what could not be read of captions and metadata since the last call: of a file, each reason once."""
        found, self._skipped = self._skipped, {}
        return [*found.values()]

    def of(self, name: str, in_head: list[str]) -> list[TextBeside]:
        """Return the texts about a picture, each once; words of its name only if there are no others."""
        path = Path(name)
        found = [TextBeside(text, CAPTION) for text in self._captions(path)]
        for folder in path.parents:
            found += [TextBeside(text, METADATA) for text in self._of_folder(folder).get(path, ())]
        found += [TextBeside(text, HEAD) for text in in_head if words_of_name(text)]
        if not found and (words := words_of_name(name)):
            found = [TextBeside(words, NAME)]
        kept = {" ".join(each.text.split())[:_LONGEST]: each.source for each in reversed(found[:MOST_TEXTS])}
        return [TextBeside(text, source) for text, source in reversed(kept.items()) if text]

    def _captions(self, path: Path) -> list[str]:
        for beside in (*map(path.with_suffix, (".txt", ".TXT")), path.with_name(f"{path.name}.txt")):
            if ending_of(path) != ".txt" and (lines := [*self._lines(beside, _MOST_OF_CAPTIONS)]):
                return [line for line in lines if line.strip()]
        return []

    def _of_folder(self, folder: Path) -> dict[Path, list[str]]:
        if folder not in self._metadata:
            rows = (row for name in METADATA_FILES for row in self._rows(folder / name))
            self._metadata[folder] = {path: texts for path, texts in rows if path in self._pictures}
        return self._metadata[folder]

    def _rows(self, file: Path) -> Iterator[tuple[Path, list[str]]]:
        """Yield the path of a picture, and its texts, for each line of a file of metadata."""
        lines = self._lines(file, _MOST_OF_METADATA)
        rows: Iterator[Any] = lines if ending_of(file) == ".jsonl" else _table(lines)
        try:
            for number, row in enumerate(rows, 1):
                try:
                    row = json.loads(row.strip() or _NOTHING) if isinstance(row, str) else row
                    path, *_ = [row[key] for key in _PATHS if key in row]
                    texts = [text for key in _FIELDS for text in _texts(row.get(key))]
                    yield file.parent / str(path).replace("\\", "/"), texts[:MOST_TEXTS]
                    if row.keys().isdisjoint(_FIELDS):
                        self._skip(file, f"no texts in {', '.join(_FIELDS)}")
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    self._skip(file, "no object with file_name, the first of this file", f", line {number}")
        except csv.Error as error:
            self._skip(file, one_line(error))

    def _lines(self, file: Path, most: int) -> Iterator[str]:
        """Yield the lines of a text in UTF-8, or in UTF-16 with its mark; none of a file that is not there.

        What cannot be read, or is more than so many bytes, is listed as skipped.
        """
        try:
            content = read_below(self._base, file, most)
            text = TextIOWrapper(BytesIO(content), "utf-16" if content.startswith(MARKS) else "utf-8-sig")
            for line in iter(partial(text.readline, _MOST_OF_LINE), ""):
                if "\0" in line or len(line) == _MOST_OF_LINE:
                    raise ValueError(f"no text in UTF-8 with lines of less than {_MOST_OF_LINE:,} characters")
                yield line
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) not in (errno.ENOENT, errno.ENAMETOOLONG):
                self._skip(file, one_line(error))

    def _skip(self, file: Path, why: str, where: str = "") -> None:
        self._skipped.setdefault((file, why), skipped_item(f"{file}{where}", why))


def _table(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a CSV by the names in its first line."""
    head = next(lines, "")
    yield from csv.DictReader(chain([head], lines), delimiter=max(DELIMITERS, key=head.count), strict=True)


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str) and text.strip()]
