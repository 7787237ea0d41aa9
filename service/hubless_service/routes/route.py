"""The class of all routes: it brings an endpoint what its signature asks for.

FastAPI makes the contract from the signatures. It would solve dependencies at the cost of a search.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

from hubless import Collection
from hubless.errors import HublessError, InputError
from hubless_service.access.authentication import ACCESS, host_of, of_others
from hubless_service.access.keys import EVERYTHING, Access
from hubless_service.http.bodies import read_body, url_fields
from hubless_service.http.problems import OUT_OF_MEMORY, HttpProblem, from_library, respond
from hubless_service.http.requests import read
from hubless_service.http.trace import SCOPE_KEY, Trace
from hubless_service.http.values import Json, Subject
from hubless_service.openapi import BODY, FIELDS, KEY_SCHEMES, READ, route
from hubless_service.searching.search_service import SearchService
from hubless_service.settings import ROLES, Role, Settings, is_loopback

_log = logging.getLogger("hubless.requests")

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])
UrlOf = Annotated[_T, Query()]
"""A model of the fields of the URL."""


class AppState(NamedTuple):
    """One of each per app, set by `create_app`."""

    settings: Settings
    engine: SearchService


class Call(Request):
    """A request to an endpoint."""

    def __init__(self, scope: Scope, state: AppState) -> None:
        """Without what FastAPI makes for its own endpoints."""
        self.scope = scope
        self.engine, self.settings = state.engine, state.settings
        self.trace: Trace = scope[SCOPE_KEY]
        self.access: Access = scope.get(ACCESS, EVERYTHING)

    @property
    def deadline(self) -> float:
        """When the time of a request that names none is over, on the clock of `perf_counter`."""
        return self.trace.started + self.settings.default_timeout_ms / 1000

    async def run(self, held: Collection, work: Callable[..., _T], *given: Any) -> _T:
        """Do some work on a collection in a search thread."""
        return await self.engine.run(self.trace, partial(work, *given), held)

    def check_role(self, role: Role, name: str | None = None) -> Access:
        """Raise `forbidden` unless the request may write, or administer; return what it may do.

        A key that is limited makes things of a `name` only if the name is in its list, whether or not another has it.

        Without keys it may if it comes from no browser, or from a page of this machine or of an origin that is allowed
        by name: otherwise any page that somebody opens here could change what is served.
        """
        if not self.access.has(role):
            needed = " or ".join(ROLES[ROLES.index(role) :])
            raise HttpProblem("forbidden", f"This needs a key of role {needed}.")
        if address := self.settings.address:
            raise HttpProblem(
                "forbidden",
                f"The catalog is at {address}. Change it by hubless build, reindex or rollback, and not over HTTP.",
            )
        origin = self.trace.heads.get(b"origin", b"").decode("latin-1")
        named = ACCESS in self.scope or origin in self.settings.origins
        if origin and not named and not is_loopback(host_of(origin)):
            raise HttpProblem("forbidden", "Without API keys a page of another origin may not do this.")
        if name is not None and not self.access.sees(name):
            raise of_others()
        return self.access


async def readable_collection(call: Call, collection: str) -> Collection:
    """Return the collection with every write that was answered before, whichever worker answered it."""
    _, slot = await call.engine.freshness.find(call.trace, call.access, collection, writes=True)
    return slot.opened


async def _writable(call: Call, collection: str) -> Collection:
    _, slot = await call.engine.freshness.find(call.trace, call.access, collection)
    held = slot.opened
    call.check_role("write")
    if not held.parts.is_folded:
        expected = (
            "one whose correction is an offset for each target; PUT its bank with correction auto, or build it again"
        )
        received = f"correction {held.manifest.correction.name}, which is prepared for all targets together"
        raise InputError("collection", expected, received)
    return held


def _needing(role: Role) -> Callable[..., Awaitable[Collection]]:
    async def found(call: Call, collection: str) -> Collection:
        held = await readable_collection(call, collection)
        call.check_role(role)
        return held

    return found


async def _creator(call: Call, collection: str) -> Access:
    return call.check_role("write", collection)


async def _administrator(call: Call) -> Access:
    return call.check_role("admin", call.path_params.get("name"))


async def _own_name(call: Call, collection: str) -> str:
    return (await call.engine.freshness.find(call.trace, call.access, collection))[0]


Held = Annotated[Collection, Depends(readable_collection)]
"""The collection of the path, as it is served."""
Writable = Annotated[Collection, Depends(_writable)]
"""The same, for requests that may write."""
Administered = Annotated[Collection, Depends(_needing("admin"))]
"""The same, for requests that may administer."""
Told = Annotated[Collection, Depends(_needing("write"))]
"""The same, for requests that tell what people do, and leave it as it is."""
OwnName = Annotated[str, Depends(_own_name)]
"""The own name of the collection of the path; it may be one that cannot be served."""
CreateAccess = Annotated[Access, Depends(_creator)]
"""The rights of a request that may make a collection of the name of the path."""
AdminAccess = Annotated[Access, Depends(_administrator)]
"""The rights of a request that may administer, and make something of the name of the path."""


_PROBLEMS: dict[Any, Sequence[str]] = {
    "body": (*BODY, *FIELDS),
    "url": FIELDS,
    "if_match": ("precondition_failed",),
    **dict.fromkeys((Held, OwnName), READ),
    **dict.fromkeys((Writable, Administered, Told), (*READ, "forbidden")),
    **dict.fromkeys((CreateAccess, AdminAccess), ("forbidden",)),
}
"""What may be wrong with what an endpoint names, by its name or its type."""


class DirectRoute(APIRoute):
    """Calls an endpoint with what it names: parts of the path, headers, what `Depends` brings, and `body` or `url`."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self._parts = [field.alias for field in self.dependant.path_params]
        self._headers = [(field.name, field.alias) for field in self.dependant.header_params]
        # parameters without a name are there for the contract only
        self._needs = [
            (need.name, need.call, bool(need.path_params))
            for need in self.dependant.dependencies
            if need.name and isinstance(need.call, FunctionType)
        ]
        hints = get_type_hints(endpoint)
        self._body, self._url = hints.get("body"), hints.get("url")
        self._required = self.body_field is not None and self.body_field.field_info.is_required()
        self.app = self._answer

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.respond(Call(scope, scope["app"].state.hubless))
        await response(scope, receive, send)

    async def respond(self, call: Call) -> Response:
        """Return the answer of the endpoint, or the problem document of an error."""
        try:
            response: Response = await self.endpoint(call, **await self._given(call))
        except HttpProblem as problem:
            return respond(problem, call.trace)
        except HublessError as error:
            return respond(from_library(error), call.trace)
        except MemoryError:
            _log.warning("memory did not suffice for a request, id=%s", call.trace.request_id)
            return respond(HttpProblem(*OUT_OF_MEMORY), call.trace)
        return response

    async def _given(self, call: Call) -> Json:
        """Return what the endpoint names."""
        path: dict[str, str] = call.scope["path_params"]
        given: Json = {}
        for name in self._parts:
            given[name] = path[name]
        for name, header in self._headers:
            given[name] = call.headers.get(header)
        for name, need, of_collection in self._needs:
            given[name] = await (need(call, path["collection"]) if of_collection else need(call))
        if self._body or self._url:
            subject = Subject(given.get("held"), call.settings)  # type: ignore[arg-type]  # some are about none
            if self._body:
                given["body"] = await read_body(call.trace, self._body, subject, required=self._required)
            if self._url:
                given["url"] = read(self._url, url_fields(call.trace, self._url.texts), subject)
            # whatever asks for a write is answered with it
            if seq := getattr(given.get("body", given.get("url")), "min_seq", None):
                given["held"] = await call.engine.freshness.reach(call.trace, given["held"], seq)
        return given


class Endpoints(APIRouter):
    """The endpoints of a tag."""

    def at(self, method: str, path: str, summary: str, answer: Any, *codes: str, **options: Any) -> Callable[[_F], _F]:
        """Make a function an endpoint, with what `route` takes; its signature tells of more problems."""

        def add(endpoint: _F) -> _F:
            hints = get_type_hints(endpoint, include_extras=True)
            told = [code for each in (*hints, *hints.values()) for code in _PROBLEMS.get(each, ())]
            made = route(summary, answer, *told, *codes, **options)
            return self.api_route(path, methods=[method], **made)(endpoint)

        return add


def routes_of(tag: str) -> Endpoints:
    """Return a router for the endpoints of a tag, whose names are the ids of their operations."""
    return Endpoints(
        route_class=DirectRoute,
        tags=[tag],
        dependencies=KEY_SCHEMES,
        generate_unique_id_function=lambda route: route.name,
    )
