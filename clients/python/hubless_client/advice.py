"""Advice about errors, for the adapters of frameworks: they raise one error of the framework's own kind."""

from hubless_client.errors import (
    ApiAccessDenied,
    ApiCollectionExists,
    ApiCollectionNotFound,
    ApiCursorExpired,
    ApiDimensionMismatch,
    ApiMergeNeeded,
    ApiMethodNotAllowed,
    ApiNotFound,
    ApiUnknownField,
    BadAnswer,
    ClientError,
    ConnectionFailed,
)

OTHER_SERVER = "is there a hubless server of version 0.3 at this url?"

ADVICE: dict[type[ClientError], str] = {
    ApiDimensionMismatch: "use the embedding model that the collection was filled with, or another collection",
    ApiMergeNeeded: "run `hubless merge` for the collection, then add the rest",
    ApiAccessDenied: "give api_key: of role write or admin to add documents, of role admin to add a query bank",
    ApiUnknownField: "name a key that the collection has, or use a collection with free payload, as adapters make it",
    ApiCollectionExists: "give the settings of the collection that is there, or another name",
    ApiCollectionNotFound: "add documents first, or give the name of a collection that is there",
    ApiCursorExpired: "the collection was built anew meanwhile: try again",
    ApiMethodNotAllowed: OTHER_SERVER,
    ApiNotFound: OTHER_SERVER,
    ConnectionFailed: "start a server with `hubless serve --catalog DIR`, or give its url",
    BadAnswer: OTHER_SERVER,
}
"""By kind of error. The nearest kind counts."""


def advised(error: ClientError) -> str:
    """The error in words, and what to do about it."""
    advice = next((ADVICE[kind] for kind in type(error).__mro__ if kind in ADVICE), None)
    return f"{error}; {advice}" if advice else str(error)
