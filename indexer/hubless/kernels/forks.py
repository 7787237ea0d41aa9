"""Make anew what a forked process cannot share: locks of other threads, threads that are gone, connections.

`os.fork` copies the memory and one thread. A lock that another thread held is never released in the child, and two
processes on one connection read each other's answers. So whoever has such things makes them in `renew`.
"""

import functools
import os
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

_T = TypeVar("_T")


class Renewable(Protocol):
    """An owner of locks, threads or connections."""

    def renew(self) -> None:
        """Make them, without a look at those that may be there: the parent, or a thread that is gone, has them."""


_owners: "WeakSet[Renewable]" = WeakSet()
_left: list[Any] = []
"""Things of the parent that a child must not end, as that would reach into the parent."""


def in_each_process(owner: Renewable) -> None:
    """Renew an owner now, and in each process that is forked while the owner lives."""
    owner.renew()
    _owners.add(owner)


def left_to_parent(thing: object) -> None:
    """Keep a thing of the parent, unused, until this process ends."""
    if thing is not None:
        _left.append(thing)


class cached_property(functools.cached_property[_T]):  # noqa: N801
    """Caches as that of functools does, without the lock that all objects of a class share before Python 3.12."""

    def __get__(self, instance: Any, owner: Any = None) -> _T:  # type: ignore[override]
        if instance is None:
            return self  # type: ignore[return-value]  # of the class
        found = instance.__dict__[self.attrname] = self.func(instance)
        return found


def _renew_all() -> None:
    for owner in list(_owners):
        owner.renew()


os.register_at_fork(after_in_child=_renew_all)
