"""One error for what the server or the connection answers: a ValueError, which LlamaIndex's stores raise."""

from collections.abc import Iterator
from contextlib import contextmanager

from hubless_client import ClientError
from hubless_client.advice import advised


class HublessError(ValueError):
    """The server refused, or did not answer. `__cause__` is the error of `hubless_client`, with its code."""


@contextmanager
def translated() -> Iterator[None]:
    """Raise `HublessError` instead of the client's errors."""
    try:
        yield
    except ClientError as error:
        raise HublessError(advised(error)) from error
