"""Work on large bodies and answers, which would keep all other clients waiting in the event loop."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from hubless.errors import InputError
from hubless.vectors.free_payload import beyond_64_bits, is_deeper

LIGHT = 65_536
"""Bytes of a body, or numbers and payloads in an answer, that take a few milliseconds."""

MOST_LISTS, MOST_STRINGS, MOST_VALUES = 60_000, 60_000, 800_000
"""In one JSON body: lists and objects; strings, names included; values of lists and objects.

The parser lets no other thread run. A body within these limits takes it about 100 ms at most.
"""

MOST_DEPTH = 100
"""Lists and objects inside each other: what writes JSON, such as an error about a value, can do 254."""

_LISTS = b"[{"
_T = TypeVar("_T")

# only one: several would take turns, and the event loop would have to wait for each of them
THREAD = ThreadPoolExecutor(1, thread_name_prefix="heavy")


async def run(weight: int, work: Callable[[], _T]) -> _T:
    """Do some work: at once if it is light, and otherwise in the thread for heavy work, one after another."""
    if weight <= LIGHT:
        return work()
    return await asyncio.get_running_loop().run_in_executor(THREAD, work)


def check_nesting(body: bytes, name: str = "body") -> None:
    """Refuse JSON that is nested too deep."""
    if is_deeper(body, MOST_DEPTH):
        raise InputError(name, f"at most {MOST_DEPTH} lists and objects inside each other", "more")


def check_whole_numbers(body: bytes) -> None:
    """Refuse JSON with whole numbers that would be rounded."""
    for number in beyond_64_bits(body):
        if float(number) != int(number):
            raise InputError("body", "whole numbers from -2^63 to 2^64 - 1, or texts", number)


def check_shape(body: bytes) -> None:
    """Refuse JSON that would take long to parse. What stands inside strings is counted too."""
    lists = len(body) - len(body.translate(None, _LISTS))
    if lists > MOST_LISTS or body.count(b'"') > 2 * MOST_STRINGS or body.count(b",") > MOST_VALUES:
        expected = f"at most {MOST_LISTS} lists and objects, {MOST_STRINGS} strings and {MOST_VALUES} values"
        raise InputError("body", expected, f"more in {len(body)} bytes")


def values_of(document: Any) -> Iterator[Any]:
    """Yield the values in a JSON value, at any depth, that are no lists and no objects."""
    if isinstance(document, dict | list):
        for each in document.values() if isinstance(document, dict) else document:
            yield from values_of(each)
    else:
        yield document
