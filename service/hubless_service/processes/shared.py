"""Things that the workers of one server share: memory without a name, which the last one frees; a folder of counts."""

from collections.abc import MutableSequence
from typing import NamedTuple


class Shared(NamedTuple):
    """Things that one worker shares with the others of its server; by default it has none.

    The sequences have a number for each worker. A worker that takes the place of another has its slot. Each writes its
    own numbers only. So they share no lock that one could hold when it is killed, and what it wrote stays.

    What changes in the catalog is noted there, as other servers see it too: see `hubless.store.notes`.
    """

    pids: MutableSequence[int]
    loaded: MutableSequence[int]
    """Above 0 once the worker answers queries, if it is the first."""
    slot: int = 0
    counts: str = ""
    """The folder of prometheus_client's files; none in a server of one process."""


def alone() -> Shared:
    """Return what the only worker of a server has."""
    return Shared([0], [0])
