"""The paths of the endpoints. Names and ids may hold any character, so they are quoted."""

from operator import index
from urllib.parse import quote

from hubless_client.errors import CannotSend

COLLECTIONS = "/v1/collections"
ALIASES = "/v1/aliases"
ACCESS = "/v1/access"
SCORES = "/v1/scores"
RERANK = "/v1/rerank"


def in_collection(collection: str, *steps: str) -> str:
    """The path of a collection, or of an endpoint below it."""
    return "/".join([COLLECTIONS, _name("collection", collection), *steps])


def of_point(collection: str, id: str | int) -> str:
    """The path of a target."""
    return in_collection(collection, "points", _name("id", id) if isinstance(id, str) else _number("id", id))


def text_of_id(id: str | int) -> str:
    """An id where a URL names it as a parameter: a number stands as its digits."""
    return id if isinstance(id, str) else _number("id", id)


def of_bank_query(collection: str, number: int) -> str:
    """The path of a stored bank query."""
    return in_collection(collection, "bank", _number("number", number))


def of_version(collection: str, version: str, *steps: str) -> str:
    """The path of a version, or of an endpoint below it."""
    return in_collection(collection, "versions", _name("version", version), *steps)


def of_alias(name: str) -> str:
    """The path of an alias."""
    return f"{ALIASES}/{_name('name', name)}"


def of_scores(name: str) -> str:
    """The path of a correction of scores."""
    return f"{SCORES}/{_name('name', name)}"


def _name(parameter: str, name: object) -> str:
    if not isinstance(name, str):
        raise CannotSend(f"{parameter}: expected a string, got {type(name).__name__}")
    if not name:
        raise CannotSend(f"{parameter}: expected at least one character, got none")
    try:
        quoted = quote(name, safe="")
    except UnicodeEncodeError as error:
        raise CannotSend(f"{parameter}: expected text that UTF-8 can carry, got {name!r}") from error
    # Unquoted, "." and ".." are steps in the path and not names.
    return quoted.replace(".", "%2E") if name in {".", ".."} else quoted


def _number(parameter: str, number: object) -> str:
    try:
        return str(index(number))  # type: ignore[arg-type]
    except TypeError as error:
        got = type(number).__name__
        raise CannotSend(f"{parameter}: expected a string or a whole number, got {got}") from error
