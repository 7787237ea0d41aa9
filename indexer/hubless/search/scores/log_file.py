"""Files of logged answers: JSON, a document a line, of ours or as search engines answer, and Parquet."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from hubless.errors import InputError, one_line
from hubless.vectors.fetched import fetched_file
from hubless.vectors.object_rows import brief

PARQUET, JSON_FILES = ".parquet", (".jsonl", ".ndjson", ".json")
RELEVANT = "relevant"


class Logged(NamedTuple):
    """One answer: ids and scores of its hits, first hit first; the ids of the right items where the log says them."""

    ids: list[Any]
    scores: list[Any]
    relevant: Any = None


class LogFormat(NamedTuple):
    """An answer of a search engine: how it looks, how it is told, its lists, and whether lower scores are better."""

    name: str
    shape: str
    tells: Callable[[Any], bool]
    lists: Callable[[Any], list[Logged]]
    distance: bool = False


def _hits(hits: list[Any], id_: str, score: str) -> Logged:
    return Logged([hit[id_] for hit in hits], [hit[score] for hit in hits])


def _elastic(document: Any) -> list[Logged]:
    answers = document.get("responses", [document])
    return [_hits(each["hits"]["hits"], "_id", "_score") for each in answers if "error" not in each]


def _qdrant(document: Any) -> list[Logged]:
    result = document["result"]
    answers = result if isinstance(result, list) and result and not _is_hit(result[0]) else [result]
    points = [each["points"] if isinstance(each, dict) else each for each in answers]
    return [_hits(each, "id", "score") for each in points]


def _is_hit(value: Any) -> bool:
    return isinstance(value, dict) and "score" in value


def _chroma(document: Any) -> list[Logged]:
    return [Logged(ids, scores) for ids, scores in zip(document["ids"], document["distances"], strict=True)]


def _langchain(document: Any) -> list[Logged]:
    pairs = [(each.get("kwargs", each), score) for each, score in document]
    return [Logged([each.get("id") or each["metadata"]["id"] for each, _ in pairs], [score for _, score in pairs])]


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda document: isinstance(document, dict) and all(name in document for name in names)


LOG_FORMATS = (
    LogFormat(
        "hubless",
        '{"ids": […], "scores": […]}, and perhaps "relevant"',
        _has("ids", "scores"),
        lambda document: [Logged(document["ids"], document["scores"], document.get(RELEVANT))],
    ),
    LogFormat("Elasticsearch, OpenSearch: _search", '{"hits": {"hits": [{"_id", "_score"}]}}', _has("hits"), _elastic),
    LogFormat("Elasticsearch, OpenSearch: _msearch", '{"responses": [{"hits": …}]}', _has("responses"), _elastic),
    LogFormat("Qdrant", '{"result": {"points": [{"id", "score"}]}}, or lists of them', _has("result"), _qdrant),
    LogFormat("Chroma", '{"ids": [[…]], "distances": [[…]]}', _has("ids", "distances"), _chroma, distance=True),
    LogFormat(
        "LangChain",
        '[[{"id", "page_content"}, score], …], as similarity_search_with_score gives',
        lambda document: isinstance(document, list),
        _langchain,
    ),
)
"""What is read, in the order in which it is tried."""


class LogFile(NamedTuple):
    """The lists of a log, and whether its scores are distances by its format.

    Lists of JSON are read once, as they are asked for; with each, `relevant` gets its label, or None.
    """

    lists: Any
    relevant: list[Any]
    distance: bool
    format: str


def read_log(path: str | Path) -> LogFile:
    """Return the lists of a file; all of it is of one format, which its first document tells.

    Raises `StorageError` if there is no such file, and `InputError` naming the line of what is no logged answer; for
    later lines when they are read.
    """
    file = fetched_file(Path(path), "log")
    name = f"log ({file.name})"
    ending = file.suffix.lower()
    if ending == PARQUET:
        try:
            table = pq.read_table(file)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InputError(name, "a readable .parquet file", one_line(error)) from error
        labels = table.column(RELEVANT).to_pylist() if RELEVANT in table.column_names else []
        return LogFile(table, labels, False, "Parquet")
    if ending not in JSON_FILES:
        raise InputError(name, f"a file ending in {', '.join(JSON_FILES)} or {PARQUET}", file.suffix or "no ending")
    documents = _documents(file, name)
    first = next(documents, None)
    if first is None:
        raise InputError(name, "at least one logged answer", "none")
    found = next((each for each in LOG_FORMATS if each.tells(first[1])), None)
    if found is None:
        known = "; ".join(f"{each.name}: {each.shape}" for each in LOG_FORMATS)
        raise InputError(first[0], f"a logged answer. {known}", brief(first[1]))
    relevant: list[Any] = []
    return LogFile(_lists(found, chain([first], documents), relevant), relevant, found.distance, found.name)


def _lists(found: LogFormat, documents: Iterable[tuple[str, Any]], relevant: list[Any]) -> Iterator[Any]:
    for place, document in documents:
        try:
            answers = found.lists(document)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise InputError(place, f"as the first, {found.name}: {found.shape}", brief(document)) from error
        for answer in answers:
            relevant.append(answer.relevant)
            yield answer.ids, answer.scores


def _documents(file: Path, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the documents of a file with their places: one a line, or one that fills it."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                document = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                if number == 1 and (whole := _whole(file)) is not None:
                    yield f"{name}, line 1", whole
                    return
                raise InputError(f"{name}, line {number}", "a JSON document", one_line(error)) from error
            yield f"{name}, line {number}", document


def _whole(file: Path) -> Any:
    try:
        return orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError:
        return None
