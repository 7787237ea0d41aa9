"""Shards: the parts of the targets of a version that get an index each, in a segment of their own."""

from hubless.errors import InputError
from hubless.knn.base import IndexType

SHARD_BYTES = 4 * 2**30
"""Size of a shard where nothing else is asked for. A build holds one in memory."""
SHARD_LEAST = 1000
"""Fewer targets are not worth an index of their own."""
TOGETHER = 8
"""Shards begin at a multiple of this, so that they share the bits of a filter's matches."""


def check_shard_targets(given: int | None) -> int | None:
    """Return the most targets in a shard: the given number, rounded up to a multiple of 8."""
    if given is None:
        return None
    if type(given) is not int or given < SHARD_LEAST:
        raise InputError("shard_targets", f"a whole number from {SHARD_LEAST}", given)
    return -(-given // TOGETHER) * TOGETHER


def most_in_a_shard(kind: IndexType, dim: int, asked: int | None) -> int:
    """Return how many targets of d' dimensions are in a shard at most."""
    million = 10**6
    return asked or max(SHARD_LEAST, SHARD_BYTES * million // kind.size(million, dim) // TOGETHER * TOGETHER)


def shard_sizes(count: int, most: int) -> list[int]:
    """Return how many targets are in each shard. All but the last are full, so that later targets change no other."""
    return [min(most, count - start) for start in range(0, count, most)]


def segment_name(version: str, number: int) -> str:
    """Return the name of a segment that a version makes. The first has the name of the version."""
    return f"{version}-{number}" if number else version
