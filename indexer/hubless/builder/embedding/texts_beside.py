"""Texts about pictures that are there already: captions in files beside them, in their heads, and in their names.

People who look for pictures ask much like that, so such texts are the query bank of the first day.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hubless.builder.embedding.embed_sources import skipped_item
from hubless.errors import one_line
from hubless.vectors.listing import ending_of

CAPTION, METADATA, HEAD, NAME = "caption", "metadata", "head", "name"
METADATA_FILE = "metadata.jsonl"
"""As data sets of pictures have it: objects with `file_name`, and texts."""
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
        found = [TextBeside(text, CAPTION) for text in _captions(path)]
        found += [TextBeside(text, METADATA) for text in self._of_folder(path.parent).get(path.name, ())]
        found += [TextBeside(text, HEAD) for text in in_head if words_of_name(text)]
        if not found and (words := words_of_name(name)):
            found = [TextBeside(words, NAME)]
        kept = {" ".join(each.text.split())[:_LONGEST]: each.source for each in reversed(found)}
        return [TextBeside(text, source) for text, source in reversed(kept.items()) if text]

    def _of_folder(self, folder: Path) -> dict[str, list[str]]:
        if folder not in self._metadata:
            self._metadata[folder] = dict(self._read(folder / METADATA_FILE))
        return self._metadata[folder]

    def _read(self, file: Path) -> Iterator[tuple[str, list[str]]]:
        if not file.is_file():
            return
        name = file.relative_to(self._base).as_posix()
        try:
            lines = file.read_text("utf-8-sig").splitlines()
        except (OSError, UnicodeError) as error:
            self._skipped.append(skipped_item(name, one_line(error)))
            return
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line) if line.strip() else {"file_name": ""}
                yield str(row["file_name"]), [text for key in _FIELDS for text in _texts(row.get(key))]
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                self._skipped.append(skipped_item(f"{name}, line {number}", "no object with file_name"))


def _captions(path: Path) -> list[str]:
    for beside in (path.with_suffix(".txt"), path.with_name(f"{path.name}.txt")):
        if ending_of(path) != ".txt" and beside.is_file():
            try:
                return [line.strip() for line in beside.read_text("utf-8-sig").splitlines() if line.strip()]
            except (OSError, UnicodeError):
                return []
    return []


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str) and text.strip()]
