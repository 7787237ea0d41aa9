"""The endpoints that read stored targets: one, several, or all of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hubless_client.bodies import in_json, listed, wanted
from hubless_client.call import Call, Content, Json, Timeout
from hubless_client.paths import in_collection, of_point
from hubless_client.points import Page, Point, Points
from hubless_client.sending import ClientMethod, Paged, PagedMethod
from hubless_client.values import given

SCROLL_LIMIT = 500
"""Targets in a page of a scroll: few requests, and answers of moderate size."""


class ReadMethods:
    """Stored targets. `min_seq` is the `seq` of a write that what is read must have."""

    @ClientMethod
    def point(
        self,
        collection: str,
        id: str | int,
        *,
        with_vector: bool = False,
        min_seq: int | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[Point]:
        """One target: its offset, its payload, and its vector if you ask for it."""
        content = Content(given({"with": "vector" if with_vector else None, "min_seq": min_seq}))
        path = of_point(collection, id)
        return Call("GET", path, Point.from_json, content, request_id=request_id, timeout=timeout)

    @ClientMethod
    def points(
        self,
        collection: str,
        ids: Iterable[str | int],
        *,
        with_payload: bool | Sequence[str] = True,
        with_vector: bool = False,
        min_seq: int | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[Points]:
        """Several targets, in the order of their ids. `missing` has the ids that no target has."""
        options = {"with": wanted(with_payload, with_vector), "min_seq": min_seq}
        content = in_json({"ids": listed("ids", ids)} | given(options))
        path = in_collection(collection, "points")
        return Call("POST", path, Points.from_json, content, request_id=request_id, timeout=timeout)

    @ClientMethod
    def scroll_page(
        self,
        collection: str,
        *,
        filter: Mapping[str, Any] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        with_payload: bool | Sequence[str] = True,
        with_vector: bool = False,
        min_seq: int | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[Page]:
        """One page of all targets, or of those that pass the filter, and the cursor of the next page.

        Parameters
        ----------
        limit : number of targets; 10 if None
        cursor : of the page before; None for the first page

        Raises
        ------
        ApiCursorExpired : the server now serves another version than the one that the cursor belongs to
        """
        extras = wanted(with_payload, with_vector)
        options = {"filter": filter, "limit": limit, "cursor": cursor, "with": extras, "min_seq": min_seq}
        path = in_collection(collection, "scroll")
        return Call("POST", path, Page.from_json, in_json(given(options)), request_id=request_id, timeout=timeout)

    @PagedMethod
    def scroll(
        self,
        collection: str,
        *,
        filter: Mapping[str, Any] | None = None,
        limit: int = SCROLL_LIMIT,
        with_payload: bool | Sequence[str] = True,
        with_vector: bool = False,
        min_seq: int | None = None,
        timeout: Timeout | None = None,
    ) -> Paged[Point]:
        """An iterator over all targets, or over those that pass the filter. It fetches pages of `limit` targets.

        Raises
        ------
        ApiCursorExpired : the server has begun to serve another version meanwhile
        """
        path = in_collection(collection, "scroll")
        extras = wanted(with_payload, with_vector)
        options = {"filter": filter, "limit": limit, "with": extras, "min_seq": min_seq}

        def page_at(cursor: str | None) -> Call[Page]:
            content = in_json(given(options | {"cursor": cursor}))
            return Call("POST", path, Page.from_json, content, timeout=timeout)

        return Paged(page_at)

    @ClientMethod
    def count(
        self,
        collection: str,
        *,
        filter: Mapping[str, Any] | None = None,
        min_seq: int | None = None,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[int]:
        """The number of targets, or of those that pass the filter."""
        content = in_json(given({"filter": filter, "min_seq": min_seq}))
        path = in_collection(collection, "count")
        return Call("POST", path, _read_count, content, request_id=request_id, timeout=timeout)


def _read_count(body: Json, _request_id: str | None) -> int:
    return int(body["count"])
