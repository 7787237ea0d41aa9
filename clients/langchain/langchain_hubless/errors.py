"""One error of LangChain's kind for whatever the server or the connection answers."""

from collections.abc import Iterator
from contextlib import contextmanager

from langchain_core.exceptions import LangChainException

from hubless_client import ClientError
from hubless_client.advice import advised


class HublessError(LangChainException):
    """The server refused, or did not answer. `__cause__` is the error of `hubless_client`, with its code."""


@contextmanager
def translated() -> Iterator[None]:
    """Raise `HublessError` instead of the client's errors."""
    try:
        yield
    except ClientError as error:
        raise HublessError(advised(error)) from error
