"""HTTP over one connection: uvicorn's protocol, with limits of size and of time, and problem documents.

uvicorn reads a head of any size, queues any number of requests, and waits for ever for a client that has sent a part of
a body after its answer. Its parser, llhttp, is strict about where a request ends; this module keeps that parser.
"""

import asyncio
from functools import lru_cache
from typing import Any, cast
from typing import Protocol as Seam
from urllib.parse import unquote

from httptools import (
    HttpParserCallbackError,
    HttpParserError,
    HttpParserInvalidURLError,
    HttpParserUpgrade,
    HttpRequestParser,
    parse_url,
)
from uvicorn._types import ASGI3Application
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from hubless_service.http.edge.cycle import Cycle
from hubless_service.http.edge.heads import (
    Fields,
    is_forwarded,
    is_plain,
    malformed,
    problem_of,
    too_large,
    without_upgrade,
)
from hubless_service.http.edge.limits import ConnectionLimits, limits_of
from hubless_service.http.edge.taking import Taking
from hubless_service.http.edge.watch import Watch
from hubless_service.http.problems import HttpProblem, clip
from hubless_service.http.trace import EXCHANGE, REFUSAL
from hubless_service.settings import Settings

_AT_ONCE = 16_384  # bytes that are parsed between two looks at the limits
_LINGER_SECONDS = 2.0
_BODY_SECONDS = 0.5  # from a head to its small body; then the app waits on
_KNOWN_BYTES = 256  # of a URL whose parts are kept
_FLOOD = 65_536  # bytes that came at once
_PAUSE_SECONDS = 0.001
_BODY_TO_FRAMING = 8  # a byte of framing is allowed for so many of a body


class AtOnce(Seam):
    """Answers some requests without a task of asyncio."""

    def awaits(self, cycle: Cycle) -> bool:
        """Whether a request of which only the head has come may be one for this, if the rest comes soon."""

    def __call__(self, cycle: Cycle) -> bool:
        """Take a request that has come whole, to answer it; whether it did."""


class _Stop(Exception):
    """Raised in a callback of the parser, to end parsing."""


class Lingering:
    """The transport of an answer after which the connection ends, but not before the client could read it.

    To close at once would reset the connection if the client is still sending, and discard the answer.
    """

    def __init__(self, protocol: "Protocol") -> None:
        self._protocol = protocol
        self.write = protocol.transport.write
        self.is_closing = protocol.transport.is_closing

    def close(self) -> None:
        """Send the end, and discard what still comes."""
        self._protocol.linger()


class Protocol(HttpToolsProtocol):
    """One connection.

    It is always in one of these states, and each has an end in time: a request is answered (the app has time limits);
    or the next one is expected, or it comes, or the rest of one that was answered early does (`_due`); and in each of
    them the client has to take what it was sent (`_taking`).
    """

    limits: ConnectionLimits
    watch: Watch

    def __init__(self, *positional: Any, **named: Any) -> None:
        super().__init__(*positional, **named)
        self._unproxied = self.app.app if isinstance(self.app, ProxyHeadersMiddleware) else self.app
        self._at_once: AtOnce | None = getattr(self._unproxied, "at_once", None)
        self._next: tuple[Cycle, ASGI3Application] | None = None  # is to be answered when more has been read
        self._running: Cycle | None = None
        self._due = 0.0  # by the loop's clock; counts while nothing is answered
        self._taking = Taking()
        self._deaf = False  # what still comes is discarded
        self._problem: HttpProblem | None = None
        self._messages = 0
        self._in_message = self._in_body = False
        self._body = self._framing = 0  # bytes of the message that comes: of its body, and of all else

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._wait(self.limits.receive_seconds)
        self.watch.add(self, self.loop)

    def connection_lost(self, exc: Exception | None) -> None:
        self._give_to_app()
        self.watch.remove(self)
        for cycle in (self._running, *(cycle for cycle, _ in self.pipeline)):
            if cycle:
                cast(Cycle, cycle).disconnect()
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), _AT_ONCE):
            if self._deaf:
                break
            self._feed(data[start : start + _AT_ONCE])
        if self._next:
            self._answer_next(*self._next)
        if len(data) >= _FLOOD and (self._deaf or not self._running):
            self._let_others_in()

    def _let_others_in(self) -> None:
        """Pause before more is discarded: libuv reads up to 8 MiB of one connection before it looks at the others."""
        self.flow.pause_reading()
        self.loop.call_later(_PAUSE_SECONDS, self._read_on)

    def _read_on(self) -> None:
        if not self.transport.is_closing() and not self.pipeline:
            self.flow.resume_reading()

    def _feed(self, data: bytes) -> None:
        messages, body = self._messages, self._body
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            # the parser has passed over the body, as if another protocol followed
            head = without_upgrade(self.parser.get_method(), self.parser.get_http_version(), self.url, self.headers)
            self.parser = HttpRequestParser(self)
            self._feed(head + data[upgrade.args[0] :])
            return
        except HttpParserError as error:
            self._give_to_app()
            self._refuse(self._problem or malformed(_reason(error)))
            return
        if self._in_message and messages == self._messages:
            self._framing += len(data) - (self._body - body)
        if self._is_too_much():
            few = malformed("The body comes in chunks that are too small, or with too long extensions or trailers.")
            self._give_to_app()
            self._refuse(few if self._in_body else too_large(self.limits))

    def _is_too_much(self) -> bool:
        """Whether what comes exceeds the limits before it is complete."""
        if self._framing > self.limits.head_bytes + self._body // _BODY_TO_FRAMING:
            return True
        return self._in_message and not self._in_body and len(self.headers) > self.limits.headers

    def on_message_begin(self) -> None:
        if self.cycle and not self.cycle.keep_alive:
            self._deaf = True  # the request before is the last
        elif len(self.pipeline) >= self.limits.pipelined:
            detail = f"{self.limits.pipelined} requests wait on this connection already, and no more may."
            self._stop(HttpProblem("head_too_large", detail))
        if self._deaf:
            raise _Stop
        self._messages += 1
        self._in_message, self._in_body = True, False
        self._body = self._framing = 0
        if not self._running:
            self._wait(self.limits.receive_seconds)
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                self._stop(malformed("method: CONNECT is for proxies"))
            return
        version = self.parser.get_http_version()
        fields = dict(self.headers)
        app = self._unproxied
        if not is_plain(version, self.url, self.headers, fields, self.limits):
            if problem := problem_of(version, self.url, self.headers, self.limits):
                self._stop(problem)
            # whether a proxy is believed costs more to find out than the app's other layers
            app = self.app if is_forwarded(self.headers) else self._unproxied
        before = self.cycle
        self.cycle = self._cycle_of_request(version, fields)
        if before is None or before.response_complete:
            self._running, self._next = self.cycle, (self.cycle, app)
            self.watch.is_answered(self)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, app))
        self._in_body = True
        self._framing = 0
        self.headers = []  # trailers are no headers (RFC 9110, 6.5.1)

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        cycle = self.cycle
        if cycle.response_complete:
            return
        cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        self._in_message = False
        if not self.parser.should_upgrade():
            if not self.cycle.response_complete:
                self.cycle.more_body = False
                self.cycle.message_event.set()
            if not self._running:
                self._wait(self.limits.idle_seconds)

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        self._running = None
        if self.transport.is_closing():
            return
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._deaf:
            self.linger()
        else:
            self._wait(self.limits.receive_seconds if self._in_message else self.limits.idle_seconds)
            self.watch.waits(self)
        if not self.pipeline:
            self.flow.resume_reading()

    def check(self, now: float) -> None:
        """End the connection if the client is late: with a request, the rest of one, or taking what was sent."""
        if self._taking.is_too_slow(self.transport.get_write_buffer_size(), now, self.limits.receive_seconds):
            self.transport.abort()
        elif self._next and now >= self._due:
            self._give_to_app()  # which has a time limit of its own for the rest
        elif not self._running and now >= self._due and not self.transport.is_closing():
            self.transport.close()

    def drop(self) -> None:
        """End the connection now."""
        self.transport.abort()

    def linger(self) -> None:
        """Send the end, and give the client a moment to read and to end too. What it still sends is discarded."""
        self._deaf = True
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        self.transport.write_eof()
        self._wait(_LINGER_SECONDS)

    def _wait(self, seconds: float) -> None:
        self._due = self.loop.time() + seconds

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cast(Cycle, cycle)
        self.watch.is_answered(self)
        super()._start_asgi_task(cycle, app)

    def _answer_next(self, cycle: Cycle, app: ASGI3Application) -> None:
        """Answer a request whose head has come, and perhaps its body too. Many clients send each by itself."""
        at_once = None if self.flow.write_paused else self._at_once
        if cycle.more_body:
            if at_once and not cycle.waiting_for_100_continue and at_once.awaits(cycle):
                self._wait(_BODY_SECONDS)
            else:
                self._give_to_app()
            return
        self._next = None
        if at_once is None or not at_once(cycle):
            super()._start_asgi_task(cycle, app)

    def _give_to_app(self) -> None:
        """Have the app answer the request that is to be answered next, if there is one."""
        if self._next:
            cycle_and_app, self._next = self._next, None
            super()._start_asgi_task(*cycle_and_app)

    def _stop(self, problem: HttpProblem) -> None:
        self._problem = problem
        raise _Stop

    def _refuse(self, problem: HttpProblem) -> None:
        """Answer with a problem, after what was asked before, and end the connection."""
        if self._deaf:
            return
        self._deaf = True
        if self._in_message and self._in_body and not self._give_up_last():
            return
        refusal = self._cycle_of_refusal(problem)
        if self._running:
            self.pipeline.appendleft((refusal, self.app))
        else:
            self._start_asgi_task(refusal, self.app)
        self.cycle = refusal

    def _give_up_last(self) -> bool:
        """Answer the request that comes no more; whether another answer to it can be sent."""
        if self.pipeline and self.pipeline[0][0] is self.cycle:
            self.pipeline.popleft()
        elif not self._running:
            self.linger()  # it was answered early
            return False
        elif self._running.response_started:
            return False
        else:
            self._running.disconnect()
            self._running = None
        return True

    def _cycle_of_request(self, version: str, fields: Fields) -> Cycle:
        path, raw_path, query = _parts_of(self.url) if len(self.url) <= _KNOWN_BYTES else _parse(self.url)
        scope = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": version,
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "method": self.parser.get_method().decode("ascii"),
            "root_path": "",
            "path": path,
            "raw_path": raw_path,
            "query_string": query,
            "headers": self.headers,
            "state": self.app_state.copy(),
        }
        keep_alive = version != "1.0" and self.parser.should_keep_alive()
        return self._cycle_of(scope, self.transport, keep_alive=keep_alive, fields=fields)

    def _cycle_of_refusal(self, problem: HttpProblem) -> Cycle:
        """What the app answers as it answers a request, so that it is logged and counted."""
        url = self.url if self._messages else b""
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "method": self.parser.get_method().decode() if url else "-",
            "root_path": "",
            "path": "",
            "raw_path": clip(url.partition(b"?")[0].decode("latin-1")).encode() or b"-",
            "query_string": b"",
            "headers": [],
            "state": {},
            REFUSAL: problem,
        }
        self.expect_100_continue = False
        return self._cycle_of(scope, cast(asyncio.Transport, Lingering(self)), keep_alive=False)

    def _cycle_of(
        self, scope: dict[str, Any], transport: asyncio.Transport, *, keep_alive: bool, fields: Fields | None = None
    ) -> Cycle:
        log, defaults = self.logger, self.server_state.default_headers
        rest = (asyncio.Event(), self.expect_100_continue, keep_alive, self.on_response_complete)
        cycle = Cycle(fields or {}, self.loop, scope, transport, self.flow, log, log, False, defaults, *rest)
        scope[EXCHANGE] = cycle
        return cycle


def protocol_of(settings: Settings) -> type[Protocol]:
    """The protocol with the limits of the settings: uvicorn makes an instance for each connection."""
    limits = limits_of(settings)
    attributes: dict[str, Any] = {"limits": limits, "watch": Watch(limits)}
    return type("Protocol", (Protocol,), attributes)


def _parse(url: bytes) -> tuple[str, bytes, bytes]:
    """The path, the path as it was sent, and the query string."""
    parts = parse_url(url)
    path = parts.path.decode("ascii")
    return unquote(path) if "%" in path else path, parts.path, parts.query or b""


_parts_of = lru_cache(1024)(_parse)  # most requests name the same few


def _reason(error: HttpParserError) -> str:
    """What the parser has against a request. A failure of ours is raised as it is."""
    if not isinstance(error, HttpParserCallbackError):
        return f"{error}."
    if error.__context__ and not isinstance(error.__context__, _Stop | HttpParserInvalidURLError):
        raise error.__context__
    return "The target of the request is not one."
