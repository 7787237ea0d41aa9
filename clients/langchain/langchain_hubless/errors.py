"""One error of LangChain's kind for whatever the server or the connection answers."""

from collections.abc import Iterator
from contextlib import contextmanager

from langchain_core.exceptions import LangChainException

from hubless_client import (
    ApiAccessDenied,
    ApiDimensionMismatch,
    ApiMergeNeeded,
    BadAnswer,
    ClientError,
    ConnectionFailed,
)

ADVICE: dict[type[ClientError], str] = {
    ApiDimensionMismatch: "use the embedding model that the collection was filled with, or another collection",
    ApiMergeNeeded: "run `hubless merge` for the collection, then add the rest",
    ApiAccessDenied: "give api_key, of role write or admin to add documents",
    ConnectionFailed: "start a server with `hubless serve --catalog DIR`, or give its url",
    BadAnswer: "is there a hubless server of version 0.2 at this url?",
}


class HublessError(LangChainException):
    """The server refused, or did not answer. `__cause__` is the error of `hubless_client`, with its code."""


@contextmanager
def translated() -> Iterator[None]:
    """Raise `HublessError` instead of the client's errors."""
    try:
        yield
    except ClientError as error:
        advice = next((text for kind, text in ADVICE.items() if isinstance(error, kind)), None)
        raise HublessError(f"{error}; {advice}" if advice else str(error)) from error
