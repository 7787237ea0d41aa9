"""Pictures, texts or source files → vectors: read ahead by threads, encoded, written a part at a time."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from hubless.encoders import DescribedEncoder, Encoder, FolderModel, for_pictures, load_encoder
from hubless.encoders.halves import each_encoded
from hubless.errors import InputError, NoEncoder, one_line
from hubless.kernels.threads import cores
from hubless.progress import Progressing, progress_bars
from hubless.vectors.arrays import F32
from hubless.vectors.readers.pictures import MOST_BYTES, check_pillow, thumbnail_of
from hubless.vectors.readers.plain_files import read_below
from hubless_encoders.embedding.embed_folder import (
    BANK,
    SKIPPED_FILE,
    TARGETS,
    THUMBNAILS,
    EmbeddedPart,
    EmbedFolder,
)
from hubless_encoders.embedding.embed_sources import (
    FILES,
    PICTURES,
    TEXTS,
    EmbedSource,
    open_embed_source,
    skipped_item,
)
from hubless_encoders.embedding.picture_facts import picture_facts
from hubless_encoders.embedding.texts_beside import NAME, TextsBeside

PART = 256
"""Items of a shard. A run that is killed loses the shard that it was at."""
READ_AHEAD = 32
"""Items that are read ahead and encoded together."""
MOST_CHARACTERS = 2_000_000
"""A larger source file is skipped: it is rather data."""
_FACTS: dict[str, dict[str, pa.DataType]] = {
    PICTURES: {
        "path": pa.string(),
        "caption": pa.string(),
        "width": pa.int64(),
        "height": pa.int64(),
        "bytes": pa.int64(),
    },
    FILES: {"path": pa.string(), "bytes": pa.int64()},
    TEXTS: {},
}
"""Columns that embedding adds, by the kind of items."""
_OF_TEXTS = pa.schema([("text", pa.string()), ("source", pa.string()), ("of", pa.string())])


@dataclass(frozen=True, kw_only=True)
class EmbedResult:
    """Results of `embed`: `targets` and `bank` are for `hubless.build`, `skipped` counts what has no vector."""

    targets: Path
    bank: Path | None
    count: int
    dim: int
    queries: int
    skipped: int
    skipped_file: Path
    new: int
    changed: int
    kept: int
    """Embedded before, and not again."""
    gone: int
    anew: bool
    """All was embedded again, as the encoder or a setting is another one."""
    why_no_bank: str | None


def embed(
    source: str | Path,
    encoder: str | Path | Encoder,
    output: str | Path,
    *,
    kind: str | None = None,
    column: str | None = None,
    thumbnails: bool = False,
    bank: bool = True,
    progress: Progressing = None,
) -> EmbedResult:
    """Write vectors and payload of pictures, texts or source files as `hubless.build` takes them.

    `output` gets the folders `targets` and, of pictures, `bank`: shards of Parquet. Later runs embed what is new or
    changed since, or what a killed run left, and take out what is gone; all, if the encoder is another one. What cannot
    be read, and each link, is skipped, and listed in
    `skipped.jsonl`. The bytes of pictures' vectors do not depend on what is encoded together. Raises `InputError`
    naming what is wrong, also if nothing could be read; `NoEncoder` if the encoder takes no pictures; `EncoderFailed`
    if an endpoint does.

    Parameters
    ----------
    source : a folder of pictures or source files; or a file: `.txt` with an item a line, or .csv, .jsonl or .parquet
    encoder : a folder, a file that describes one (.json or .toml), or an encoder
    output : the folder to fill: a new one, or that of a run before
    kind : "pictures", "texts" or "files". By default pictures of a folder that has some, files of another, texts of a
        file; with "pictures" or "files" a file lists paths below its folder
    column : of a table, the one to embed; by default `text`, `caption`, `title` or `content`, or the only one of texts
    thumbnails : write small JPEGs of pictures, too, into a folder `thumbnails`
    bank : make a query bank of captions beside pictures, texts in their heads, and words in their names
    progress : show progress bars; None does if standard error is a terminal
    """
    output = Path(output)
    with progress_bars(progress) as steps:
        steps.step("looking at the source")
        found = open_embed_source(Path(source), kind, column)
        loaded = _opened(encoder, found.kind)
        why_no_bank = _why_no_bank(loaded, found.kind) if bank else "it was not asked for"
        vector = pa.field("vector", pa.list_(pa.float32(), loaded.dim))
        schemas = {TARGETS: _columns(found).append(vector), BANK: _OF_TEXTS.append(vector)}
        recipe = json.dumps([_described(loaded), str(schemas[TARGETS]), thumbnails, bank])
        with EmbedFolder.opened(output, recipe, schemas) as folder:
            stamps = found.stamps(recipe)
            kept = folder.keep(stamps)
            had = len(folder.known)
            beside = TextsBeside(found.base, found.contents)
            small = output / THUMBNAILS if thumbnails else None
            embedding = _Embedding(found, loaded, small, why_no_bank is None, beside)
            missing = [number for number, item in enumerate(found.ids) if item not in kept]
            advance = steps.step("embedding", len(missing))
            skipped = list(found.skipped)
            with ThreadPoolExecutor(cores()) as pool:
                for start in range(0, len(missing), PART):
                    part = embedding.part(missing[start : start + PART], pool, advance)
                    folder.write(part, stamps)
                    skipped += part.skipped
            said = folder.finish(skipped)
            new = len(folder.known) - had
    if not said["count"]:
        first = (output / SKIPPED_FILE).read_text("utf-8").partition("\n")[0]
        raise InputError("source", f"something that can be read among {len(found):,} items", f"first {first}")
    return EmbedResult(
        targets=output / TARGETS,
        bank=output / BANK if said["queries"] else None,
        **said,
        dim=loaded.dim,
        new=new,
        changed=said["count"] - new - len(kept),
        kept=len(kept),
        gone=len(folder.known.keys() - stamps.keys()),
        anew=folder.is_other,
        skipped_file=output / SKIPPED_FILE,
        why_no_bank=None if said["queries"] else why_no_bank or "no picture has a caption, or words in its name",
    )


@dataclass(frozen=True)
class _Embedding:
    """Makes parts: reads items ahead in threads, while others are encoded."""

    source: EmbedSource
    encoder: Encoder
    thumbnails: Path | None
    bank: bool
    beside: TextsBeside

    def part(self, items: Sequence[int], pool: ThreadPoolExecutor, advance: Callable[[int], None]) -> EmbeddedPart:
        """Return the vectors, payload and texts of some items, and of those that could not be encoded why."""
        made = EmbeddedPart()
        for group in self._groups(items, pool):
            good = {number: read for number, read in group.items() if isinstance(read, _Read)}
            encoded = dict(zip(good, each_encoded(self._encode, [read.taken for read in good.values()]), strict=True))
            for number, read in group.items():
                item = self.source.ids[number]
                result = encoded[number] if isinstance(read, _Read) else read
                if isinstance(read, _Read) and not isinstance(result, Exception):
                    made.rows.append(self._given(number) | read.payload | {"id": item, "vector": result})
                    made.texts += self._texts(number, read, made.rows[-1])
                else:
                    made.skipped.append(skipped_item(item, _why(result)))
            advance(len(group))
        made.skipped += self.beside.taken()
        asked = each_encoded(self.encoder.encode, [row["text"] for row in made.texts])
        pairs = zip(made.texts, asked, strict=True)
        made.texts = [row | {"vector": vector} for row, vector in pairs if isinstance(vector, np.ndarray)]
        return made

    def _groups(self, items: Sequence[int], pool: ThreadPoolExecutor) -> Iterator[dict[int, Any]]:
        """Yield what was read of some items, by number, while the next are read."""
        groups = [items[start : start + READ_AHEAD] for start in range(0, len(items), READ_AHEAD)]
        reading = pool.map(self._read, groups[0])
        for group, following in zip(groups, [*groups[1:], []], strict=True):
            ahead = pool.map(self._read, following)
            yield dict(zip(group, reading, strict=True))
            reading = ahead

    def _read(self, number: int) -> "_Read | Exception":
        try:
            return _READERS[self.source.kind](self, number)
        except (InputError, OSError, UnicodeError) as error:
            if isinstance(error, NoEncoder):
                raise
            return error

    def _read_text(self, number: int) -> "_Read":
        text = self.source.contents[number]
        if not text.strip():
            raise InputError("text", "a text", "none")
        return _Read(text, {}, [])

    def _read_file(self, number: int) -> "_Read":
        name, content = self._content(number, MOST_CHARACTERS)
        text = content.decode()
        if "\0" in text or not text.strip():
            raise InputError("file", "text", "none" if not text.strip() else "what is no text")
        return _Read(text, {"path": name, "bytes": len(content)}, [])

    def _read_picture(self, number: int) -> "_Read":
        name, content = self._content(number, MOST_BYTES)
        taken = for_pictures(self.encoder).picture_input(content)
        facts = picture_facts(content)
        if self.thumbnails is not None:
            file = self.thumbnails / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(thumbnail_of(content))
        payload = {"path": name, "width": facts.width, "height": facts.height, "bytes": len(content)}
        return _Read(taken, payload, facts.texts)

    def _content(self, number: int, most: int) -> tuple[str, bytes]:
        name = self.source.contents[number]
        name.encode()  # Arrow and JSON hold no other names
        return name, read_below(self.source.base, name, most)

    def _encode(self, taken: Sequence[Any]) -> F32:
        if self.source.kind == PICTURES:
            return for_pictures(self.encoder).encode_pictures(taken)
        return self.encoder.encode(taken)

    def _given(self, number: int) -> dict[str, Any]:
        return {} if self.source.payload is None else self.source.payload.slice(number, 1).to_pylist()[0]

    def _texts(self, number: int, read: "_Read", row: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the texts about a picture; the first that is more than words of its name is its caption."""
        if self.source.kind != PICTURES:
            return []
        found = self.beside.of(self.source.contents[number], read.texts)
        if self.source.payload is None or "caption" not in self.source.payload.column_names:
            row["caption"] = next((each.text for each in found if each.source != NAME), None)
        return [{"text": e.text, "source": e.source, "of": str(row["id"])} for e in found] if self.bank else []


class _Read(NamedTuple):
    """An item as the encoder takes it, its payload, and texts in the head of a picture."""

    taken: Any
    payload: dict[str, Any]
    texts: list[str]


_READERS: dict[str, Callable[[_Embedding, int], _Read]] = {
    PICTURES: _Embedding._read_picture,
    TEXTS: _Embedding._read_text,
    FILES: _Embedding._read_file,
}


def _opened(given: str | Path | Encoder, kind: str) -> Encoder:
    """Return an encoder that can encode the kind here; of a model in a folder, the model says its dimensions."""
    if pictures := kind == PICTURES:
        check_pillow()
    loaded = _loaded(given, pictures=pictures) if isinstance(given, str | Path) else given
    if pictures:
        for_pictures(loaded).check_pictures()
    else:
        loaded.check()
    return loaded


def _loaded(path: str | Path, *, pictures: bool) -> Encoder:
    try:
        return load_encoder(Path(path))
    except InputError as error:
        if error.parameter != "encoder, dim":
            raise
        loaded = load_encoder(Path(path), dim=1)
        if not isinstance(loaded, FolderModel):
            expected = "the dimensions, as no targets tell them yet"
            raise InputError(error.parameter, expected, f"{path} without dim") from error
    if pictures:
        for_pictures(loaded)
    return load_encoder(Path(path), dim=loaded.own_dim(pictures=pictures))


def _why_no_bank(encoder: Encoder, kind: str) -> str | None:
    if kind != PICTURES:
        return "only pictures have texts beside them"
    try:
        encoder.check()
    except InputError as error:
        return f"the encoder takes no texts: {error}"
    return None


def _described(encoder: Encoder) -> Any:
    """Return what tells an encoder from another one, without the size of its batches."""
    if isinstance(encoder, DescribedEncoder):
        return encoder.description.model_dump(mode="json", exclude_none=True, exclude={"batch", "threads"})
    return type(encoder).__name__


def _columns(source: EmbedSource) -> pa.Schema:
    """Return the columns of targets: those given, and what embedding adds where no column has the name."""
    kind = pa.int64() if isinstance(source.ids[0], int) else pa.string()
    given = [] if source.payload is None else list(source.payload.schema)
    names = {"id", *(column.name for column in given)}
    added = [pa.field(name, type_) for name, type_ in _FACTS[source.kind].items() if name not in names]
    return pa.schema([pa.field("id", kind), *given, *added])


def _why(error: Any) -> str:
    if isinstance(error, InputError):
        return f"expected {error.expected}, got {error.received}"
    return "a name that is not UTF-8" if isinstance(error, UnicodeEncodeError) else one_line(error)
