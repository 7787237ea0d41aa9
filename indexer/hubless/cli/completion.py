"""Completion: the values that a shell offers when you press Tab after an option."""

from collections.abc import Callable, Iterable

import typer

from hubless.errors import HublessError
from hubless.store.catalog import Catalog


def one_of(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a function that offers those of the names that begin with what was typed."""
    known = list(names)

    # typer wants to see the type
    def offer(typed: str) -> list[str]:
        return _beginning(known, typed)

    return offer


def collections(context: typer.Context, typed: str) -> list[str]:
    """Return names of collections in the catalog that was given before."""
    return _of_catalog(context, typed, Catalog.collections)


def aliases(context: typer.Context, typed: str) -> list[str]:
    """Return aliases in the catalog that was given before."""
    return _of_catalog(context, typed, Catalog.aliases)


def versions(context: typer.Context, typed: str) -> list[str]:
    """Return ids of versions of the collection that was given before, newest first."""
    collection = context.params.get("collection")
    if collection is None:
        return []
    return _of_catalog(context, typed, lambda catalog: reversed(catalog.version_ids(collection)))


def _of_catalog(context: typer.Context, typed: str, names: Callable[[Catalog], Iterable[str]]) -> list[str]:
    path = context.params.get("catalog")
    if path is None:
        return []
    try:
        return _beginning(names(Catalog(path)), typed)
    except HublessError:  # a shell has no place for an error
        return []


def _beginning(names: Iterable[str], typed: str) -> list[str]:
    return [name for name in names if name.startswith(typed)]
