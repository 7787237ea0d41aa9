"""The last writes of a client: its reads name them, so that every worker of the server answers with them."""

from threading import Lock
from typing import Any, TypeVar

from hubless_client.call import Call
from hubless_client.paths import COLLECTIONS
from hubless_client.writing import Deleted, Written

T = TypeVar("T")
MIN_SEQ = "X-Min-Seq"


class LastWrites:
    """The number of the last write to each collection. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seqs: dict[str, int] = {}

    def arguments(self, call: Call[Any]) -> dict[str, Any]:
        """Return the arguments of httpx's `build_request` for a call."""
        arguments = call.for_httpx()
        if seq := self._seqs.get(_collection(call)):
            arguments["headers"][MIN_SEQ] = str(seq)
        return arguments

    def noted(self, call: Call[Any], result: T) -> T:
        """Return the result of a call, and remember its number if it is that of a write."""
        if isinstance(result, Written | Deleted):
            name = _collection(call)
            with self._lock:
                self._seqs[name] = max(result.seq, self._seqs.get(name, 0))
        elif call.method == "DELETE":
            self._seqs.pop(_collection(call), None)  # numbers begin anew
        return result


def _collection(call: Call[Any]) -> str:
    """Return the name of the collection as it stands in the path; "" if there is none."""
    return call.path.removeprefix(COLLECTIONS).split("/")[1] if call.path.startswith(f"{COLLECTIONS}/") else ""
