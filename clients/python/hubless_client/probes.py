"""Probes of the server: alive, and ready."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from hubless_client.call import Call, Json, Timeout
from hubless_client.errors import ApiError
from hubless_client.sending import ClientMethod


@dataclass(frozen=True, slots=True)
class Health:
    """Result of a probe. It is true if the server is alive, or ready.

    Attributes
    ----------
    ok : alive, or ready
    status : in the server's words
    detail : the reason if it is not ok
    collections : the state of each collection, by name; only ready() has it
    retry_after : seconds to wait before you ask again
    note : says that the catalog is empty, and what to do
    """

    ok: bool
    status: str
    detail: str = ""
    collections: Mapping[str, Any] | None = None
    retry_after: float | None = None
    request_id: str | None = None
    note: str = ""

    def __bool__(self) -> bool:
        return self.ok

    @classmethod
    def from_json(cls, body: Json, request_id: str | None) -> Self:
        """Read a success."""
        return cls(
            True, body["status"], collections=body.get("collections"), request_id=request_id, note=body.get("note", "")
        )

    @classmethod
    def from_503(cls, error: ApiError) -> Self:
        """Read a 503."""
        collections = error.extra.get("collections")
        return cls(False, error.code, error.detail, collections, error.retry_after, error.request_id)


class ProbeMethods:
    """Probes. The client sends them once: it does not retry them."""

    @ClientMethod
    def live(self, *, request_id: str | None = None, timeout: Timeout | None = None) -> Call[Health]:
        """Ask if the process of the server answers. Sent once, never retried."""
        return _probe("/livez", request_id, timeout)

    @ClientMethod
    def ready(self, *, request_id: str | None = None, timeout: Timeout | None = None) -> Call[Health]:
        """Ask if the server can answer queries, and if not, why. Sent once, never retried."""
        return _probe("/readyz", request_id, timeout)


def _probe(path: str, request_id: str | None, timeout: Timeout | None) -> Call[Health]:
    return Call(
        "GET",
        path,
        Health.from_json,
        read_503=Health.from_503,
        request_id=request_id,
        timeout=timeout,
        repeats=False,
    )
