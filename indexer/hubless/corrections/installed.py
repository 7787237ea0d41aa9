"""Corrections that other packages bring, each by an entry point: listed by name, and loaded when asked for."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import is_dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from hubless.corrections.base import FittedCorrection, QueryTime
from hubless.errors import InputError, one_line

ENTRY_POINTS = "hubless.corrections"
_log = logging.getLogger(ENTRY_POINTS)
_ASKED = {"": ("fit", "fitted"), "fitted": ("offsets", "query_time", "state", "from_state"), "live": ("from_arrays",)}
"""What a class, its `fitted` and its `live` have to have."""


class Registered(NamedTuple):
    """A method, its fitted form, and its work on a live query beyond the folded offsets; the package that brings it."""

    method: type[Any]
    fitted: type[FittedCorrection]
    live: type[QueryTime] | None = None
    package: str = "hubless"


def as_registered(method: type[Any], package: str = "") -> Registered:
    """Return what a class brings: itself, its attribute `fitted`, and `live` if it has one.

    Raises `InputError` naming what the class lacks.
    """
    found = Registered(method, getattr(method, "fitted", None), getattr(method, "live", None), package)  # type: ignore[arg-type]
    if not isinstance(method, type) or not is_dataclass(method):
        raise InputError("correction", "a class that is a frozen dataclass", repr(method))
    for attribute, needed in _ASKED.items():
        part = getattr(method, attribute, None) if attribute else method
        if attribute == "live" and part is None:
            continue
        if lacking := [name for name in needed if not hasattr(part, name)]:
            where = f"{method.__name__}.{attribute}" if attribute else method.__name__
            raise InputError(where, f"a class with {', '.join(needed)}", f"none with {', '.join(lacking)}")
    return found


@cache
def entries_by_name(taken: Collection[str]) -> Mapping[str, list[EntryPoint]]:
    """Return the entry points by name, without names that are `taken`: the first time, the log says which these are."""
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=ENTRY_POINTS):
        if entry.name in taken or not entry.name.isidentifier():
            reason = "hubless has one of this name" if entry.name in taken else "its name is no identifier"
            _log.warning("correction %r of package %s is left out: %s", entry.name, package_of(entry), reason)
        elif entry not in found.setdefault(entry.name, []):
            found[entry.name].append(entry)
    return found


@cache
def load(entries: tuple[EntryPoint, ...]) -> Registered:
    """Load what packages bring under one name. Raises `InputError` naming the package that cannot be used, and why."""
    name = entries[0].name
    packages = [package_of(entry) for entry in entries]
    if len(entries) > 1:
        raise InputError("correction", f"one package that brings {name!r}", " and ".join(packages))
    try:
        return as_registered(entries[0].load(), packages[0])
    except Exception as error:  # whatever a package does when it is imported
        expected = f"package {packages[0]} to bring {name!r}; mend or uninstall it"
        raise InputError("correction", expected, f"{type(error).__name__}: {one_line(error)}") from error


def package_of(entry: EntryPoint) -> str:
    """Return name and version of the package of an entry point."""
    return "of no name" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
