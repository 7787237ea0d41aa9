"""Checks of what an address names: its options, its server, the table or collection, and the vectors."""

from collections.abc import Callable, Collection
from pathlib import Path

from hubless.errors import InputError
from hubless_databases.addresses import FORMS, DatabaseAddress


def check_options(address: DatabaseAddress, *known: str) -> None:
    """Raise `InputError` if an address has an option that its database does not know."""
    for name in address.options:
        if name not in known:
            raise InputError(f"address, option {name}", f"one of {', '.join(known)}", name)


def check_server(address: DatabaseAddress, names: int, key: str) -> None:
    """Raise `InputError` if the address of a server has a user, or more than so many names before the collection.

    `key`: the variable of the environment that has the key.
    """
    if address.user or address.password:
        raise InputError("address", f"no user and no password; {key} has the key", "some")
    if address.host and len(Path(address.path).parts) > names:
        form = FORMS[address.scheme]
        expected = f"{form}, with up to {names} names before the collection" if names else form
        raise InputError("address", expected, f"/{address.path}/{address.table}")


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
