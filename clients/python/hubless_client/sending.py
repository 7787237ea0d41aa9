"""An endpoint is written once, and is a method of both clients.

It is written as a function that makes a `Call`. `ClientMethod` turns that into a method: `Client` sends the call and
returns the result, `AsyncClient` does the same in a coroutine. `PagedMethod` is for results that come in pages: it
gives an iterator over all items, or an async iterator.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from functools import wraps
from types import GenericAlias
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, get_args, get_type_hints, overload

from hubless_client.call import Call

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Sender(ABC):
    """Sends calls and waits for the answers."""

    @abstractmethod
    def _send(self, call: Call[T]) -> T: ...


class AsyncSender(ABC):
    """Sends calls and awaits the answers."""

    @abstractmethod
    async def _send(self, call: Call[T]) -> T: ...


class HasCursor(Protocol[T_co]):
    """Some items, and the cursor of the next page: None after the last."""

    @property
    def cursor(self) -> str | None: ...
    def __iter__(self) -> Iterator[T_co]: ...


@dataclass(frozen=True, slots=True)
class Paged(Generic[T_co]):
    """All pages of an answer: `at(cursor)` is the call for one of them, `at(None)` for the first."""

    at: Callable[[str | None], Call[HasCursor[T_co]]]


class ClientMethod(Generic[P, T]):
    """A method of both clients that sends one call."""

    def __init__(self, make: Callable[Concatenate[Any, P], Call[T]]) -> None:
        @wraps(make)
        def method(self: Sender, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return self._send(make(self, *args, **kwargs))

        @wraps(make)
        async def async_method(self: AsyncSender, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return await self._send(make(self, *args, **kwargs))

        result = _argument_of_result(make)
        self._method = _returning(result, method)
        self._async_method = _returning(result, async_method)

    @overload
    def __get__(self, client: None, owner: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, client: Sender, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: object, owner: type) -> Any:
        method = self._async_method if issubclass(owner, AsyncSender) else self._method
        return method.__get__(client, owner)


class PagedMethod(Generic[P, T]):
    """A method of both clients that goes through all pages, and sends one call a page."""

    def __init__(self, make: Callable[Concatenate[Any, P], Paged[T]]) -> None:
        """Make the methods of both clients from `make`, which returns the pages of one call of it."""

        @wraps(make)
        def method(self: Sender, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
            pages = make(self, *args, **kwargs)
            cursor = None
            while True:
                page = self._send(pages.at(cursor))
                yield from page
                if (cursor := page.cursor) is None:
                    return

        @wraps(make)
        async def async_method(self: AsyncSender, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
            pages = make(self, *args, **kwargs)
            cursor = None
            while True:
                page = await self._send(pages.at(cursor))
                for item in page:
                    yield item
                if (cursor := page.cursor) is None:
                    return

        item = _argument_of_result(make)
        self._method = _returning(GenericAlias(Iterator, item), method)
        self._async_method = _returning(GenericAlias(AsyncIterator, item), async_method)

    @overload
    def __get__(self, client: None, owner: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, client: Sender, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: object, owner: type) -> Any:
        method = self._async_method if issubclass(owner, AsyncSender) else self._method
        return method.__get__(client, owner)


def _argument_of_result(make: Callable[..., Any]) -> Any:
    (argument,) = get_args(inspect.signature(make).return_annotation)
    return argument


def _returning(result: Any, method: Callable[..., Any]) -> Callable[..., Any]:
    # help(), editors and type hints show what the method gives, not the Call that it sends.
    signature = inspect.signature(method)
    parameters = [each for given in signature.parameters.values() for each in _unpacked(given)]
    method.__signature__ = signature.replace(parameters=parameters, return_annotation=result)  # type: ignore[attr-defined]
    method.__annotations__ = {**method.__annotations__, "return": result}
    return method


def _unpacked(given: inspect.Parameter) -> list[inspect.Parameter]:
    # options that stand in one record, `**options: Unpack[Record]`, are shown one by one
    if given.kind is not inspect.Parameter.VAR_KEYWORD:
        return [given]
    (record,) = get_args(given.annotation)
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in get_type_hints(record).items()
    ]
