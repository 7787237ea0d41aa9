"""Live hubness: counts of how often live queries find each target."""

from dataclasses import dataclass
from typing import Any

from hubless_client.call import Call, Timeout
from hubless_client.paths import in_collection
from hubless_client.records import Record
from hubless_client.sending import ClientMethod


@dataclass(frozen=True, slots=True)
class Hub:
    """A target that many queries find: how often, and its share of the places in the answers."""

    id: str | int
    occurrence: int
    share: float


@dataclass(frozen=True, slots=True)
class HubnessByChance:
    """The values that chance alone would give."""

    skewness: float
    antihub_share: float


@dataclass(frozen=True, slots=True)
class RankingHubness(Record):
    """Counts of how often the targets are found, in one ranking of the queries.

    Attributes
    ----------
    queries : the number of queries
    skewness : of the occurrence of all targets
    top_hub_share : the share of the places in the answers that the worst hub takes
    antihub_share : the share of the targets that are never found
    hubs : the worst hubs
    chance : skewness and antihub share if as many queries found random targets; None if the server is older than 0.2
    """

    queries: int
    skewness: float
    top_hub_share: float
    antihub_share: float
    hubs: tuple[Hub, ...]
    chance: HubnessByChance


@dataclass(frozen=True, slots=True)
class Drift:
    """The distance of the live queries from the query bank, where 1 is the border of chance; and their number.

    `advice` says what to do if they have left the bank. It is None if not.
    """

    drift: float
    queries: int
    advice: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveHubness(Record):
    """Counts of how often the live queries find the targets.

    Attributes
    ----------
    k : how many places of each answer count
    window : the last queries of a worker that count, at most
    seen : queries of people that the worker has answered since it serves the version
    served : the answers as they were served; None without queries
    corrected, raw : the last of the queries, with the correction and without; compare these two; None without queries
    live : the strength that spreads their answers most evenly, their number, and whether that is enough; None without
        queries. Where popular targets are right, evenness harms: clicks or labels tell
    drift : None if there were too few queries, or if the server does not measure it
    """

    k: int
    window: int
    seen: int
    served: RankingHubness | None
    corrected: RankingHubness | None
    raw: RankingHubness | None
    live: dict[str, Any] | None = None
    drift: Drift | None
    collection: str
    version: str
    request_id: str | None = None


class HubnessMethods:
    """Live hubness."""

    @ClientMethod
    def hubness(
        self, collection: str, *, request_id: str | None = None, timeout: Timeout | None = None
    ) -> Call[LiveHubness]:
        """Return how often the latest queries found each target, and how far these queries are from the query bank."""
        path = in_collection(collection, "hubness")
        return Call("GET", path, LiveHubness.from_json, request_id=request_id, timeout=timeout)
