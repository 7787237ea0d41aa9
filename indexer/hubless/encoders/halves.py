"""Which of several inputs an encoder does not take. It says so of all together."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from hubless.errors import InputError, TextRefused, UnknownWords
from hubless.vectors.arrays import F32

_T = TypeVar("_T")


def each_encoded(
    encode: Callable[[Sequence[_T]], F32],
    inputs: Sequence[_T],
    refusals: tuple[type[InputError], ...] = (UnknownWords, TextRefused),
) -> Iterator[F32 | InputError]:
    """Yield the vector (d,) of each input, or why the encoder does not take it. Halves find the ones refused."""
    if not inputs:
        return
    try:
        vectors = encode(inputs)
    except refusals as error:
        if len(inputs) == 1:
            yield error
            return
        half = len(inputs) // 2
        for some in (inputs[:half], inputs[half:]):
            yield from each_encoded(encode, some, refusals)
    else:
        yield from vectors
