"""Clicks: the targets that people chose for their queries."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hubless_client.bodies import in_json, listed
from hubless_client.call import Call, Json, Timeout
from hubless_client.errors import CannotSend
from hubless_client.paths import in_collection
from hubless_client.query import Query
from hubless_client.sending import ClientMethod
from hubless_client.values import given


@dataclass(frozen=True, slots=True)
class Click:
    """A target that somebody chose among the hits of a query.

    Attributes
    ----------
    query : a vector, a text or an image, without options
    target : the id that was chosen
    position : its rank in the answer, from 1
    client : who chose it: one client counts once for a query and a target. Without it your key is believed: each counts
    """

    query: Query
    target: str | int
    position: int | None = None
    client: str | None = None

    def as_document(self) -> dict[str, Any]:
        """The click as a JSON object."""
        others = {"target": self.target, "position": self.position, "client": self.client}
        return {"query": self.query.as_document()} | given(others)


class ClickMethods:
    """Clicks. The client does not repeat them by itself."""

    @ClientMethod
    def add_clicks(
        self,
        collection: str,
        clicks: Iterable[Click],
        *,
        request_id: str | None = None,
        timeout: Timeout | None = None,
    ) -> Call[int]:
        """Tell the server which targets people chose; all or none. Returns how many are kept.

        Needs a key of role write, and a server that keeps a query sample.

        Parameters
        ----------
        clicks : the server takes 1,000 at once
        request_id, timeout : as in every call
        """
        given = listed("clicks", clicks)
        for number, click in enumerate(given):
            if not isinstance(click, Click):
                raise CannotSend(f"clicks[{number}]: expected a Click, got {type(click).__name__}")
        content = in_json({"clicks": [click.as_document() for click in given]})
        path = in_collection(collection, "clicks")
        # a second one would count those without a client twice
        return Call("POST", path, _read_kept, content, request_id=request_id, timeout=timeout, repeats=False)


def _read_kept(body: Json, _request_id: str | None) -> int:
    return int(body["kept"])
