"""Errors of Haystack's kinds for whatever the server or the connection answers."""

from collections.abc import Iterator
from contextlib import contextmanager

from haystack.document_stores.errors import DocumentStoreError, DuplicateDocumentError
from haystack.errors import FilterError

from hubless_client import ApiInvalidInput, ApiPointExists, ClientError
from hubless_client.advice import advised


class HublessError(DocumentStoreError):
    """The server refused, or did not answer. `__cause__` is the error of `hubless_client`, with its code."""


@contextmanager
def translated() -> Iterator[None]:
    """Raise errors of Haystack instead of the client's."""
    try:
        yield
    except ClientError as error:
        raise _kind(error)(advised(error)) from error


def _kind(error: ClientError) -> type[Exception]:
    if isinstance(error, ApiPointExists):
        return DuplicateDocumentError
    if isinstance(error, ApiInvalidInput) and str(error.parameter).startswith("filter"):
        return FilterError
    return HublessError
