"""The server's endpoints, one pure function each. `Client` and `AsyncClient` have a method for every one of them.

All take `request_id`, sent as X-Request-ID (the server makes one up otherwise), and `timeout`, which replaces the
client's for this call. All raise `CannotSend` on what no request can carry.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from hubless_client import results
from hubless_client.call import NOTHING, Call, Content, Timeout
from hubless_client.errors import CannotSend
from hubless_client.query import Query, Settings, as_floats, as_json, base64, extras
from hubless_client.vectors import Packed, Vector, Vectors, pack_many, pack_one

ReadBatch = Callable[[results.Json, str | None], results.BatchAnswer]


def collections(*, request_id: str | None = None, timeout: Timeout | None = None) -> Call[list[results.CollectionInfo]]:
    """The collections that the server serves."""
    return Call("GET", "/v1/collections", results.collection_list, request_id=request_id, timeout=timeout)


def collection(
    name: str, *, request_id: str | None = None, timeout: Timeout | None = None
) -> Call[results.CollectionInfo]:
    """One collection: its version, size, dimension, correction, index and measured quality."""
    return Call("GET", _path(name), results.collection_info, request_id=request_id, timeout=timeout)


def query(
    collection: str,
    vector: Vector | None = None,
    *,
    text: str | None = None,
    id: str | int | None = None,
    limit: int | None = None,
    skip: int | None = None,
    strength: float | None = None,
    with_payload: bool | Sequence[str] = False,
    with_vector: bool = False,
    score_threshold: float | None = None,
    params: Mapping[str, Any] | None = None,
    filter: Mapping[str, Any] | None = None,
    explain: bool = False,
    request_id: str | None = None,
    timeout: Timeout | None = None,
) -> Call[results.Answer]:
    """The best targets for a vector, shape (d,), for a text, or like another target.

    Parameters
    ----------
    collection : its name
    vector : a list, an array, a tensor: whatever holds d real numbers
    text : a question, where the collection has an encoder
    id : of a target, which is asked with its stored vector and left out itself
    limit : how many hits; 10 if None
    skip : how many of the best are left out; 0 if None
    strength : how much of the offset is applied: 1 is full, 0 is the raw ranking; if None 1, and 0 with an id
    with_payload, with_vector : whether the hits bear them; of payload also the names of some columns
    score_threshold : hits below it are left out
    params : search parameters of the collection's index
    filter : which targets are searched
    explain : whether the hits bear an explanation: their rank without the correction, and how often they were found
    request_id, timeout : as for every call
    """
    asked = Query(
        vector=vector,
        text=text,
        id=id,
        limit=limit,
        skip=skip,
        strength=strength,
        with_payload=with_payload,
        with_vector=with_vector,
        score_threshold=score_threshold,
        params=params,
        filter=filter,
        explain=explain,
    )
    if vector is not None and (in_url := asked.in_url()) is not None:
        content = as_floats(pack_one(vector), in_url)
    else:
        content = as_json(asked.document())
    return Call("POST", _path(collection, "query"), results.answer, content, request_id=request_id, timeout=timeout)


def query_batch(
    collection: str,
    vectors: Vectors | None = None,
    *,
    queries: Sequence[Query] | None = None,
    limit: int | None = None,
    skip: int | None = None,
    strength: float | None = None,
    with_payload: bool | Sequence[str] = False,
    with_vector: bool = False,
    score_threshold: float | None = None,
    params: Mapping[str, Any] | None = None,
    filter: Mapping[str, Any] | None = None,
    explain: bool = False,
    request_id: str | None = None,
    timeout: Timeout | None = None,
) -> Call[results.BatchAnswer]:
    """The best targets for each of many vectors, shape (m, d), or of many `Query` objects, in one request.

    The settings, as in `query`, hold for all vectors; each `Query` brings its own.

    Raises
    ------
    DimensionMismatch : the vectors have another dimension than the collection, and it shows in the answer only
    """
    settings = Settings(
        limit=limit,
        skip=skip,
        strength=strength,
        with_payload=with_payload,
        with_vector=with_vector,
        score_threshold=score_threshold,
        params=params,
        filter=filter,
        explain=explain,
    )
    if queries is None and vectors is not None:
        content, read = _vectors(pack_many(vectors), settings)
    elif queries is not None and vectors is None:
        content, read = _queries(queries, settings)
    else:
        given = "neither" if vectors is None else "both"
        raise CannotSend(f"query_batch: expected either vectors or queries, got {given}")
    return Call("POST", _path(collection, "query", "batch"), read, content, request_id=request_id, timeout=timeout)


def point(
    collection: str,
    id: str | int,
    *,
    with_vector: bool = False,
    request_id: str | None = None,
    timeout: Timeout | None = None,
) -> Call[results.Point]:
    """One target: its offset, its payload, and its vector if asked for."""
    return Call(
        "GET",
        _path(collection, "points", id),
        results.point,
        Content({"with": "vector"}) if with_vector else NOTHING,
        request_id=request_id,
        timeout=timeout,
    )


def points(
    collection: str,
    ids: Sequence[str | int],
    *,
    with_payload: bool | Sequence[str] = True,
    with_vector: bool = False,
    request_id: str | None = None,
    timeout: Timeout | None = None,
) -> Call[results.Points]:
    """Several targets in the order of their ids; those ids that no target bears are in `missing`."""
    body = {"ids": list(ids), "with": extras(with_payload, with_vector)}
    path = _path(collection, "points")
    return Call("POST", path, results.points, as_json(body), request_id=request_id, timeout=timeout)


def scroll_page(
    collection: str,
    *,
    filter: Mapping[str, Any] | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    with_payload: bool | Sequence[str] = True,
    with_vector: bool = False,
    request_id: str | None = None,
    timeout: Timeout | None = None,
) -> Call[results.Page]:
    """One page of all targets, or of those that pass the filter, and the cursor of the next one.

    Parameters
    ----------
    limit : how many targets; 10 if None
    cursor : of the page before, None for the first

    Raises
    ------
    CursorExpired : another version is served than the one that the cursor is of
    """
    wanted = {"filter": filter, "limit": limit, "cursor": cursor}
    body = {name: value for name, value in wanted.items() if value is not None}
    content = as_json({**body, "with": extras(with_payload, with_vector)})
    return Call("POST", _path(collection, "scroll"), results.page, content, request_id=request_id, timeout=timeout)


def hubness(
    collection: str, *, request_id: str | None = None, timeout: Timeout | None = None
) -> Call[results.LiveHubness]:
    """How hubby the answers are that a collection gives: of the queries that were asked lately."""
    path = _path(collection, "hubness")
    return Call("GET", path, results.live_hubness, request_id=request_id, timeout=timeout)


def count(
    collection: str,
    *,
    filter: Mapping[str, Any] | None = None,
    request_id: str | None = None,
    timeout: Timeout | None = None,
) -> Call[int]:
    """The number of targets, of those that pass the filter if there is one."""
    return Call(
        "POST",
        _path(collection, "count"),
        results.total,
        as_json({} if filter is None else {"filter": filter}),
        request_id=request_id,
        timeout=timeout,
    )


def versions(
    collection: str, *, request_id: str | None = None, timeout: Timeout | None = None
) -> Call[list[results.VersionState]]:
    """All versions of a collection, oldest first, and what became of them."""
    return Call("GET", _path(collection, "versions"), results.version_list, request_id=request_id, timeout=timeout)


def activate(
    collection: str, version: str, *, request_id: str | None = None, timeout: Timeout | None = None
) -> Call[list[results.VersionState]]:
    """Serve another version: it is compared with its manifest, and then opened beside the one that is served."""
    path = _path(collection, "versions", version) + "/activate"
    return Call("POST", path, results.version_list, request_id=request_id, timeout=timeout)


def aliases(*, request_id: str | None = None, timeout: Timeout | None = None) -> Call[list[results.Alias]]:
    """Other names of collections."""
    return Call("GET", "/v1/aliases", results.alias_list, request_id=request_id, timeout=timeout)


def alias(name: str, *, request_id: str | None = None, timeout: Timeout | None = None) -> Call[results.Alias]:
    """What an alias stands for, and the etag that a change of it needs."""
    return Call("GET", _alias(name), results.alias, request_id=request_id, timeout=timeout)


def set_alias(
    name: str,
    collection: str,
    *,
    if_match: str | None = None,
    request_id: str | None = None,
    timeout: Timeout | None = None,
) -> Call[results.Alias]:
    """Set an alias; moving one that is there needs its etag in `if_match`, or "*" for any."""
    document = as_json({"collection": collection})
    content = Content(body=document.body, media_type=document.media_type, if_match=if_match)
    return Call("PUT", _alias(name), results.alias, content, request_id=request_id, timeout=timeout)


def remove_alias(
    name: str, *, if_match: str, request_id: str | None = None, timeout: Timeout | None = None
) -> Call[results.Alias]:
    """Remove an alias whose etag is `if_match`, or "*" for any; what it stood for."""
    content = Content(if_match=if_match)
    return Call("DELETE", _alias(name), results.alias, content, request_id=request_id, timeout=timeout)


def live(*, request_id: str | None = None, timeout: Timeout | None = None) -> Call[results.Health]:
    """Whether the server's process answers. Asked once: a probe is not retried."""
    return _probe("/livez", request_id, timeout)


def ready(*, request_id: str | None = None, timeout: Timeout | None = None) -> Call[results.Health]:
    """Whether the server can answer queries, and if not, why. Asked once: a probe is not retried."""
    return _probe("/readyz", request_id, timeout)


def _probe(path: str, request_id: str | None, timeout: Timeout | None) -> Call[results.Health]:
    return Call("GET", path, results.health, read_503=results.not_ready, request_id=request_id, timeout=timeout)


def _path(collection: str, *rest: str | int) -> str:
    return "/".join(["/v1/collections", *(_segment(part) for part in (collection, *rest))])


def _alias(name: str) -> str:
    return f"/v1/aliases/{_segment(name)}"


def _segment(part: str | int) -> str:
    text = str(part)
    if not text:
        raise CannotSend("request: a collection's name and a string id have one character or more")
    # Left as they are, "." and ".." are steps in the path and not names.
    return quote(text, safe="").replace(".", "%2E") if text in {".", ".."} else quote(text, safe="")


def _vectors(packed: Packed, settings: Settings) -> tuple[Content, ReadBatch]:
    if (in_url := settings.in_url()) is not None:
        # two vectors of 384 are as long as three of 256
        return as_floats(packed.data, {"dim": packed.dim, **in_url}), partial(_batch_answer, rows=packed.rows)
    documents = [{"vector": base64(packed.row(i)), **settings.in_json()} for i in range(packed.rows)]
    return as_json({"queries": documents}), partial(_batch_answer, rows=packed.rows)


def _queries(queries: Sequence[Query], settings: Settings) -> tuple[Content, ReadBatch]:
    if besides := settings.in_json():
        raise CannotSend(f"query_batch: expected settings in each Query, got {', '.join(besides)} beside them")
    return as_json({"queries": [each.document() for each in queries]}), partial(_batch_answer, rows=len(queries))


def _batch_answer(body: results.Json, request_id: str | None, *, rows: int) -> results.BatchAnswer:
    answer = results.batch_answer(body, request_id)
    if len(answer) != rows:
        raise ValueError(f"{len(answer)} answers to {rows} queries")
    return answer
