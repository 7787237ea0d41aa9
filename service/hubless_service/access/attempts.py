"""Wrong keys: an address that tries them is not looked at for a while."""

import ipaddress
import logging
from collections.abc import Callable
from functools import lru_cache
from time import monotonic

_log = logging.getLogger("hubless.keys")

REMEMBERED_SECONDS = 60.0
"""Time that wrong keys are remembered, from the first one of an address on."""

ADDRESSES = 4096
"""Most addresses that are remembered. The oldest give way, so that nobody can fill the memory."""

_IPV6_NETWORK = 64  # bits; what lies behind them one subscriber chooses as he likes


class Attempts:
    """Wrong keys by address. For one thread: the event loop's."""

    def __init__(self, most: int, clock: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._clock = clock
        self._tried: dict[str, tuple[float, set[int]]] = {}  # until when, and hashes; the oldest come first

    def seconds_left(self, host: str) -> float:
        """Return how long no key of an address is looked at; 0 if it may try."""
        if not self._tried or not (found := self._tried.get(client_address(host))):
            return 0.0
        ends, keys = found
        return max(0.0, ends - self._clock()) if len(keys) >= self._most else 0.0

    def note(self, host: str, key: bytes) -> None:
        """Count a key that turned out to be wrong."""
        if not self._most:
            return
        now = self._clock()
        address = client_address(host)
        while self._tried and (oldest := next(iter(self._tried.items())))[1][0] <= now:
            del self._tried[oldest[0]]
        if address not in self._tried and len(self._tried) >= ADDRESSES:
            del self._tried[next(iter(self._tried))]
        _, keys = self._tried.setdefault(address, (now + REMEMBERED_SECONDS, set()))
        keys.add(hash(key))
        if len(keys) == self._most:
            _log.warning(
                "address %s has tried %d wrong API keys and is refused for a minute; "
                "if it is that of a proxy, name it in HUBLESS_TRUSTED_PROXIES",
                address,
                self._most,
            )


@lru_cache
def client_address(host: str) -> str:
    """An IPv4 address, or the network of an IPv6 one; what else a proxy may have said of its client, made printable."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return ascii(host[:64])
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), _IPV6_NETWORK), strict=False))
