"""Queries from the body and the URL of a request."""

import struct
from typing import Any, NamedTuple

from fastapi import Request

from hubless.errors import InputError
from hubless.filters import Filter
from hubless.vectors.arrays import F32
from hubless_service.http import decoding
from hubless_service.http.bodies import BINARY, parse, refuse_url_fields, url_fields
from hubless_service.http.heavy import count_values
from hubless_service.http.requests import BatchRequest, BinaryRequest, QueryOptions, QueryRequest, read
from hubless_service.http.values import NO_EXTRAS, Extras, Subject
from hubless_service.settings import Settings

_PLAIN = frozenset({"vector", "limit"})


class Stored(NamedTuple):
    """A stored target: the query asks for targets like it."""

    id: str | int


class Query(NamedTuple):
    """One query, however it was sent.

    Attributes
    ----------
    where : what stands before a field's name in an error: nothing, or `queries[3].`
    asked : a vector (1, d), prepared for the collection; a text; or a stored target
    strength : None leaves it to the library
    min_seq : a write that what is searched must have
    """

    where: str
    asked: F32 | str | Stored
    limit: int
    skip: int
    strength: float | None
    score_threshold: float | None
    timeout_ms: int
    extras: Extras
    explain: bool
    filter: Filter | None
    parameters: dict[str, Any] | None
    min_seq: int = 0


def read_query(request: Request, kind: str, body: bytes, subject: Subject) -> Query:
    """The query of a request. SentBeside a binary body the other fields stand in the URL.

    Raises
    ------
    HttpProblem, InputError
    """
    if kind == BINARY:
        options = read(BinaryRequest, url_fields(request), subject)
        return _query("", decoding.from_body(body, subject.collection, rows=1), options, subject.settings)
    refuse_url_fields(request)
    return query_of_json(body, subject)


def query_of_json(body: bytes, subject: Subject) -> Query:
    """The query of a JSON body, with nothing in the URL; as `read_query`."""
    document = parse(body)
    if (plain := _plain_query(document, body, subject)) is not None:
        return plain
    return _from_json("", read(QueryRequest, document, subject), subject.settings)


def query_of_binary(body: bytes, subject: Subject) -> Query:
    """The query of a binary body, with nothing in the URL; as `read_query`."""
    return _query_of(decoding.from_body(body, subject.collection, rows=1), subject.settings)


def _plain_query(document: Any, body: bytes, subject: Subject) -> Query | None:
    """What most clients send, a right vector and perhaps a right limit, in a third of `read`'s time; None for others.

    Parameters
    ----------
    body : that the document was parsed from
    """
    if type(document) is not dict or not _PLAIN.issuperset(document):
        return None
    vector, limit = document.get("vector"), document.get("limit", subject.settings.default_limit)
    if type(vector) is not list or type(limit) is not int or not 1 <= limit <= subject.settings.max_limit:
        return None
    if b"u" in body or b"f" in body:  # perhaps true or false, which packing takes for numbers
        return None
    try:
        prepared = subject.collection.prepare(decoding.from_numbers(vector))
    except (struct.error, InputError):
        return None  # `read` says what is wrong
    return _query_of(prepared, subject.settings, limit)


def _query_of(vector: F32, settings: Settings, limit: int | None = None) -> Query:
    """The query of a vector (1, d) that leaves all else to the service."""
    limit = limit or settings.default_limit
    return Query("", vector, limit, 0, None, None, settings.default_timeout_ms, NO_EXTRAS, False, None, None)


def read_batch(request: Request, kind: str, body: bytes, subject: Subject) -> list[Query]:
    """The queries of a batch. SentBeside a binary body the fields in the URL hold for all of them.

    Raises
    ------
    HttpProblem, InputError
    """
    settings = subject.settings
    if kind == BINARY:
        options = read(BinaryRequest, url_fields(request), subject)
        rows = decoding.from_body(body, subject.collection)
        if not 1 <= len(rows) <= settings.max_batch:
            raise InputError("body", f"1 to {settings.max_batch} queries", str(len(rows)))
        first = _query("", rows[:1], options, settings)
        queries = [first._replace(asked=rows[i : i + 1]) for i in range(len(rows))]
    else:
        refuse_url_fields(request)
        document = parse(body)
        _check_filters(document, settings)
        sent = read(BatchRequest, document, subject).queries
        queries = [_from_json(f"queries[{i}].", query, settings) for i, query in enumerate(sent)]
    hits = sum(query.skip + query.limit for query in queries)
    if hits > settings.max_batch_hits:
        expected = f"limits and skips that add up to at most {settings.max_batch_hits}"
        raise InputError("body" if kind == BINARY else "queries", expected, str(hits))
    numbers = sum(query.limit for query in queries if query.extras.vector) * subject.collection.dim
    if numbers > settings.max_batch_numbers:
        expected = f"hits with vectors of at most {settings.max_batch_numbers} numbers in all"
        raise InputError("body" if kind == BINARY else "queries", expected, str(numbers))
    return queries


def _check_filters(document: Any, settings: Settings) -> None:
    """Refuse a batch whose filters are too large together. To count them takes a small part of reading them."""
    queries = document.get("queries") if isinstance(document, dict) else None
    if isinstance(queries, list):
        filters = [query.get("filter") for query in queries if isinstance(query, dict)]
        if count_values([one for one in filters if one is not None], most := settings.max_batch_filter_values) > most:
            raise InputError("queries", f"filters of at most {most} values in all", "more")


def _from_json(where: str, sent: QueryRequest, settings: Settings) -> Query:
    stored = None if sent.id is None else Stored(sent.id)
    given = [asked for asked in (sent.vector, sent.text, stored) if asked is not None]
    if len(given) != 1:
        names = [name for name in ("vector", "text", "id") if getattr(sent, name) is not None]
        raise InputError(f"{where}vector", "either a vector, a text or an id", " and ".join(names) or "none of them")
    return _query(where, given[0], sent, settings, sent.filter, sent.params)


def _query(
    where: str,
    asked: F32 | str | Stored,
    options: QueryOptions,
    settings: Settings,
    filter: Filter | None = None,
    parameters: dict[str, Any] | None = None,
) -> Query:
    limit = settings.default_limit if options.limit is None else options.limit
    skip = options.skip or 0
    deepest = max(settings.max_depth - limit, 0)
    if skip > deepest:
        raise InputError(f"{where}skip", f"a whole number from 0 to {deepest} beside this limit", str(skip))
    return Query(
        where,
        asked,
        limit,
        skip,
        options.strength,
        options.score_threshold,
        options.timeout_ms or settings.default_timeout_ms,
        options.with_ or NO_EXTRAS,
        bool(options.explain),
        filter,
        parameters,
        options.min_seq or 0,
    )
