"""Clients in several processes: forked, copied, sent to another one by pickle."""

import os
from abc import ABC, abstractmethod
from typing import Any, Self
from weakref import WeakSet

from hubless_client.connection import way_to
from hubless_client.retries import Retries, policy_of

_living: "WeakSet[Shared]" = WeakSet()


class Shared(ABC):
    """A client with connections of its own in each process. Its settings make another one."""

    @abstractmethod
    def _connect(self) -> None:
        """Begin without connections."""

    def _share(self, retries: Retries, **settings: Any) -> None:
        self._retry = policy_of(retries)
        self._way = way_to(**settings)
        self._settings = settings | {"retries": retries}
        self._connect()
        _living.add(self)

    def _renew(self) -> None:
        """Leave the connections to the parent: two processes on one would read each other's answers."""
        self._left = self.__dict__.copy()  # not collected either, which would tell the parent's event loop
        self._connect()

    def __copy__(self) -> Self:
        return type(self)(**self._settings)

    def __deepcopy__(self, memo: object) -> Self:
        return type(self)(**self._settings)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._settings["transport"] is not None:
            raise TypeError(f"{self!r} cannot be pickled with its transport: make another in the other process")
        return _made, (type(self), self._settings)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._way.shown!r})"


def _made(kind: Any, settings: dict[str, Any]) -> Any:
    return kind(**settings)


def _renew_all() -> None:
    for client in list(_living):
        client._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
