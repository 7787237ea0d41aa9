"""Files of logged answers, as searches, libraries and evaluations write them."""

import gzip
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from hubless.errors import InputError, one_line
from hubless.vectors.fetched import fetched_file, reading_given
from hubless.vectors.listing import ending_of
from hubless.vectors.object_rows import brief
from hubless.vectors.readers.text_tables import open_csv

RELEVANT = "relevant"
_GZIP, _BOM = ".gz", b"\xef\xbb\xbf"
_ROWS = 65_536
"""Rows of a CSV that are read together."""
LOG_FORMATS = (
    'ids and scores: {"ids": […], "scores": […]}, and perhaps "relevant"',
    'hubless, Qdrant: [{"id", "score"}, …], below hits, points, groups, result or results',
    'Elasticsearch, OpenSearch: {"hits": {"hits": [{"_id", "_score"}]}}, or responses with several',
    'Chroma: {"ids": [[…]], "distances": [[…]]}',
    'LangChain: [[{"id", "page_content"}, score], …], as similarity_search_with_score gives',
    'ranx, TREC: {"query": {"id": score}}, or lines of query, Q0, id, rank, score, tag',
)
"""The documents that are read, by what writes them."""


class Logged(NamedTuple):
    """One answer: ids and scores of its hits; the ids of the right items, if it says them; whether lower is better."""

    ids: list[Any]
    scores: list[Any]
    relevant: Any = None
    distance: bool = False


def _answers(document: Any) -> Iterator[Logged]:
    """Yield the answers of a document. Raises `TypeError`, `KeyError` or their like for what is none."""
    match document:
        case {"ids": [*several], "distances": [*scores]}:
            yield from (Logged(*answer, distance=True) for answer in zip(several, scores, strict=True))
        case {"ids": ids, "scores": scores}:
            yield Logged(ids, scores, document.get(RELEVANT))
        case {"groups": groups}:
            yield from _of_list([hit for group in groups for hit in group["hits"]])
        case {"hits": inner} | {"points": inner} | {"result": inner} | {"results": inner} | {"responses": inner}:
            yield from _answers(inner)
        case {"error": _}:  # of one search among several
            pass
        case list():
            yield from _of_list(document)
        case _:
            for scores in document.values():  # in no order: of a run the higher score is better
                yield _paired(sorted(scores.items(), key=lambda hit: -hit[1]))


def _of_list(several: list[Any]) -> Iterator[Logged]:
    """Yield the answer that a list of hits is, or those of the documents in it."""
    match several:
        case [{"_id": _}, *_]:
            yield _paired([(hit["_id"], hit["_score"]) for hit in several])
        case [{"id": _}, *_]:
            yield _paired([(hit["id"], hit["score"]) for hit in several])
        case [[dict(), int() | float()], *_]:  # of LangChain
            pairs = [(each.get("kwargs", each), score) for each, score in several]
            yield _paired([(each.get("id") or each["metadata"]["id"], score) for each, score in pairs])
        case _:
            yield from chain.from_iterable(map(_answers, several))


def _paired(hits: list[tuple[Any, Any]]) -> Logged:
    return Logged([id_ for id_, _ in hits], [score for _, score in hits])


class LogFile(NamedTuple):
    """The lists of a log, and whether its scores are distances, as Chroma's are.

    Lists of JSON are read once, as they are asked for; with each, `relevant` gets its label, or None.
    """

    lists: Any
    relevant: list[Any]
    distance: bool


def read_log(path: str | Path) -> LogFile:
    """Return the lists of a file; all of it has scores, or all of it distances.

    Raises `StorageError` if there is no such file, and `InputError` naming the line of what is no logged answer; for
    later lines when they are read.
    """
    file = fetched_file(Path(path), "log")
    name = f"log ({file.name})"
    ending = ending_of(file)
    if ending in _TABLES:
        with reading_given(file, name):
            table = _TABLES[ending](file, name)
        labels = table.column(RELEVANT).to_pylist() if RELEVANT in table.column_names else []
        return LogFile(table, labels, False)
    zipped = ending == _GZIP
    reader = _DOCUMENTS.get(ending_of(file.stem) if zipped else ending)
    if reader is None:
        expected = (
            f"a file ending in {', '.join((*_TABLES, *_DOCUMENTS))}; of packed ones JSON and runs: gunzip -k others"
        )
        raise InputError(name, expected, file.suffix or "no ending")
    answers = _read(file, name, reader, gzip.open if zipped else open)
    first = next(answers, None)
    if first is None:
        raise InputError(name, "at least one logged answer", "none")
    relevant: list[Any] = []
    down = first[1].distance
    return LogFile(_lists(chain([first], answers), down, relevant), relevant, down)


def _read(file: Path, name: str, documents: Callable[..., Any], opener: Any) -> Iterator[tuple[str, Logged]]:
    with reading_given(file, name), opener(file, "rb") as lines:
        for place, document in documents(lines, name):
            try:
                yield from ((place, answer) for answer in [*_answers(document)])
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise InputError(place, f"a logged answer. {'; '.join(LOG_FORMATS)}", brief(document)) from error


def _lists(answers: Iterable[tuple[str, Logged]], distance: bool, relevant: list[Any]) -> Iterator[Any]:
    for place, answer in answers:
        if answer.distance != distance:
            raise InputError(place, "scores or distances, as the first answer has", "others")
        relevant.append(answer.relevant)
        yield answer.ids, answer.scores


def _json(lines: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield JSON documents: one a line, or one that fills the file."""
    for number, line in enumerate(lines, 1):
        place = f"{name}, line {number}"
        if text := line.removeprefix(_BOM).strip():
            try:
                yield place, orjson.loads(text)
            except orjson.JSONDecodeError as error:
                whole = text + lines.read() if number == 1 else b""
                with suppress(orjson.JSONDecodeError):
                    yield place, orjson.loads(whole)
                    return
                raise InputError(place, "a JSON document", one_line(error)) from error


def _run(lines: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield a run of TREC as one document: the scores of each query by id."""
    found = dict[str, dict[str, float]]()
    for number, line in enumerate(lines, 1):
        try:
            query, _, id_, _, score, _ = line.decode("utf-8-sig").split()
            scores = found.setdefault(query, {})
            if id_ in scores:
                raise ValueError
            scores[id_] = float(score)
        except ValueError as error:
            expected = "query, Q0, id, rank, score, tag: a line of a run of TREC, an id once for a query"
            raise InputError(f"{name}, line {number}", expected, brief(line)) from error
    yield name, found


def _csv(file: Path, name: str) -> pa.Table:
    opened = open_csv(file, name)
    return pa.Table.from_batches(opened.batches(opened.schema.names, _ROWS), opened.schema)


_TABLES: dict[str, Callable[[Path, str], pa.Table]] = {
    ".parquet": lambda file, _: pq.read_table(file),
    **dict.fromkeys((".csv", ".tsv"), _csv),
}
_DOCUMENTS = {
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), _json),
    **dict.fromkeys((".run", ".trec", ".txt"), _run),
}
