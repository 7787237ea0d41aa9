"""Names of tables, of vectors, and of the corrections that are written beside them."""

import re
from collections.abc import Callable, Collection

from hubless.errors import InputError


def check_there(what: str, name: str, names: Collection[str]) -> None:
    """Raise `InputError` that lists what there is, unless a table or collection of this name is there."""
    if name not in names:
        raise InputError(what, f"one of {', '.join(sorted(names)) or 'those there are, none'}", name)


def chosen(given: str | None, among: Collection[str], kind: str, show: Callable[[str], str] = str) -> str:
    """Return the given name of vectors, or the only one."""
    if given is None and len(among) == 1:
        return next(iter(among))
    if given is not None and given in among:
        return given
    expected = f"one of {', '.join(map(show, among))}" if among else kind
    raise InputError("vector", expected, "none" if given is None else show(given))


def following(prefix: str, current: str | None) -> str:
    """Return the name of the correction after the current one: the prefix and the next number."""
    return f"{prefix}{1 if current is None else 1 + int(current.removeprefix(prefix))}"


def is_numbered(name: object, prefix: str) -> bool:
    """Return True for a name that `following` makes."""
    return isinstance(name, str) and re.fullmatch(rf"{re.escape(prefix)}\d+", name) is not None
