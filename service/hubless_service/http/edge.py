"""HTTP over connections: uvicorn's protocol, with limits of size, time and number, and problem documents.

uvicorn reads a head of any size, queues any number of requests, and waits for ever for a client that has sent a part of
a body after its answer. Its parser, llhttp, is strict about where a request ends; this module keeps that parser. All
names of uvicorn's insides stand here; pyproject.toml bounds its version for them.
"""

import asyncio
import logging
import re
import resource
import sys
from collections.abc import Callable
from time import perf_counter
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import unquote, unquote_to_bytes

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
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from hubless_service.http.problems import HttpProblem, clip
from hubless_service.http.trace import EXCHANGE, REFUSAL
from hubless_service.settings import Settings

Headers = list[tuple[bytes, bytes]]

FORWARDED = frozenset({b"x-forwarded-for", b"x-forwarded-proto"})
"""Headers of a proxy that say for whom it asks."""
_LINE_BYTES = len(b": \r\n")
# a name, an IPv4 or a bracketed IPv6 address, and perhaps a port; also nothing (RFC 9110, 7.2)
_HOST = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,;=%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?")


def malformed(detail: str) -> HttpProblem:
    """Return the answer to bytes that are no request."""
    return HttpProblem("malformed_request", detail)


def too_large(settings: Settings) -> HttpProblem:
    """Return the answer to a head beyond the limits."""
    detail = f"The head of a request may have {settings.max_head_bytes} bytes and {settings.max_headers} headers."
    return HttpProblem("head_too_large", detail)


def problem_of(version: str, url: bytes, headers: Headers, settings: Settings) -> HttpProblem | None:
    """Return what is wrong with a head that the parser takes (RFC 9112, 3.2 and 6.1; RFC 3986, 2.1), or None."""
    size, hosts, codings = len(url), list[bytes](), list[bytes]()
    for name, value in headers:
        size += len(name) + len(value) + _LINE_BYTES
        if name == b"host":
            hosts.append(value)
        elif name == b"transfer-encoding":
            codings.append(value.lower())
    if size > settings.max_head_bytes or len(headers) > settings.max_headers:
        return too_large(settings)
    if version == "0.9":
        return malformed("version: expected HTTP/1.1 or HTTP/1.0, got none")
    if len(hosts) > 1 or (not hosts and version != "1.0"):
        return malformed(f"host: expected one header, got {len(hosts)}")
    if hosts and not _HOST.fullmatch(hosts[0]):
        return malformed("host: expected a name or an address, and perhaps a port")
    if codings and (codings != [b"chunked"] or version == "1.0"):
        return malformed("transfer-encoding: expected chunked, in HTTP/1.1")
    try:  # the parser takes no other characters than those of ASCII
        unquote_to_bytes(url.partition(b"?")[0]).decode() if b"%" in url else None
    except UnicodeDecodeError:
        return malformed("path: expected UTF-8")
    return None


log = logging.getLogger("hubless.connections")

LEAST_BYTES = 65_536
"""Bytes of its answers that a client has to take in each period, or all if less is left."""
_AT_ONCE = 16_384  # bytes that are parsed between two looks at the limits
_LINGER_SECONDS = 2.0
_FLOOD = 65_536  # bytes that came at once
_PAUSE_SECONDS = 0.001
_BODY_TO_FRAMING = 8  # a byte of framing is allowed for so many of a body
_OTHER_DESCRIPTORS = 64  # that connections leave to the process: its listener, its log, files while they are opened
_LOOKS = 10  # in the shortest of the times that are watched
_SHORTEST_WAIT, _LONGEST_WAIT = 0.05, 1.0  # seconds between two looks
_SECONDS_BETWEEN_WARNINGS = 60.0


class Cycle(RequestResponseCycle):
    """A request that the app answers."""

    arrived: float  # when the head was read; the request may then wait for others of its connection
    on_gone: Callable[[], object] | None = None  # called if the client hangs up before it is answered
    watch: "Watch"

    @property
    def is_alone(self) -> bool:
        """Return True if this process answers no other request now."""
        return self.watch.busy <= 1

    def whole_body(self) -> bytes | None:
        """Return the body, if all of it has come and nobody has asked for a part of it."""
        if self.more_body or self.disconnected:
            return None
        body, self.body = bytes(self.body), bytearray()
        self.message_event.clear()
        return body

    async def answer(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a whole answer in one write, which costs less than messages. Nothing of a client's is in its headers."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        self.response_started = self.response_complete = True
        lines = [STATUS_LINE[status]]
        for name, value in (*self.default_headers, *headers):
            if name == b"connection":  # which says that it ends
                self.keep_alive = False
            else:
                lines += (name, b": ", value, b"\r\n")
        lines += (b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n", body)
        self.transport.write(b"".join(lines))
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    def disconnect(self) -> None:
        """Let the app know that nobody waits for its answer."""
        self.disconnected = True
        self.message_event.set()
        if self.on_gone:
            self.on_gone()


class Protocol(HttpToolsProtocol):
    """One connection.

    It is always in one of these states, and each has an end in time: a request is answered (the app has time limits);
    or the next one is expected, or it comes, or the rest of one that was answered early does (`_due`); and in each of
    them the client has to take what it was sent.
    """

    settings: Settings
    watch: "Watch"
    scope: Any

    def __init__(self, *positional: Any, **named: Any) -> None:
        super().__init__(*positional, **named)
        self._unproxied = self.app.app if isinstance(self.app, ProxyHeadersMiddleware) else self.app
        self._running: Cycle | None = None
        self._due = 0.0  # by the loop's clock; counts while nothing is answered
        self._unsent, self._unsent_since = 0, 0.0
        self._deaf = False  # what still comes is discarded
        self._messages = 0
        self._in_message = self._in_body = False
        self._body = self._framing = 0  # bytes of the message that comes: of its body, and of all else

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._due = self.loop.time() + self.settings.receive_seconds
        self.watch.add(self, self.loop)

    def connection_lost(self, exc: Exception | None) -> None:
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
        if len(data) >= _FLOOD and (self._deaf or not self._running):
            # libuv reads up to 8 MiB of one connection before it looks at the others
            self.flow.pause_reading()
            self.loop.call_later(_PAUSE_SECONDS, self._read_on)

    def _read_on(self) -> None:
        if not self.transport.is_closing() and not self.pipeline:
            self.flow.resume_reading()

    def _feed(self, data: bytes) -> None:
        messages, body, again = self._messages, self._body, b""
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            # a server may ignore it (RFC 9110, 7.8), but the parser has passed over the body: it gets the head again
            lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())]
            lines += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
            again = b"\r\n".join([*lines, b"", data[upgrade.args[0] :]])
        except HttpParserError as error:
            self._refuse(_refusal(error))
            return
        if again:  # not while an exception is handled, which would become the context of others
            self.parser = HttpRequestParser(self)
            self._feed(again)
            return
        if self._in_message and messages == self._messages:
            self._framing += len(data) - (self._body - body)
        too_much = self._framing > self.settings.max_head_bytes + self._body // _BODY_TO_FRAMING
        trailers = self._in_message and not self._in_body and len(self.headers) > self.settings.max_headers
        if too_much or trailers:
            few = malformed("The body comes in chunks that are too small, or with too long extensions or trailers.")
            self._refuse(few if self._in_body else too_large(self.settings))

    def on_message_begin(self) -> None:
        if self.cycle and not self.cycle.keep_alive:
            self._deaf = True  # the request before is the last
        elif len(self.pipeline) >= self.settings.max_pipelined:
            detail = f"{self.settings.max_pipelined} requests wait on this connection already, and no more may."
            raise HttpProblem("head_too_large", detail)
        if self._deaf:
            raise malformed("connection: it ends with the request before")  # nobody reads this
        self._messages += 1
        self._in_message, self._in_body = True, False
        self._body = self._framing = 0
        if not self._running:
            self._due = self.loop.time() + self.settings.receive_seconds
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                raise malformed("method: CONNECT is for proxies")
            return
        version = self.parser.get_http_version()
        if problem := problem_of(version, self.url, self.headers, self.settings):
            raise problem
        # whether a proxy is believed costs more to find out than the app's other layers
        app = self._unproxied if FORWARDED.isdisjoint(dict(self.headers)) else self.app
        parts, before = parse_url(self.url), self.cycle
        path = parts.path.decode("ascii")
        self.scope |= {
            "http_version": version,
            "method": self.parser.get_method().decode("ascii"),
            "path": unquote(path) if "%" in path else path,
            "raw_path": parts.path,
            "query_string": parts.query or b"",
        }
        self.cycle = self._new_cycle(self.transport, version != "1.0" and self.parser.should_keep_alive())
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, app))
        self._in_body = True
        self._framing = 0
        self.headers = []  # trailers are no headers (RFC 9110, 6.5.1)

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_message = False
        if not self.parser.should_upgrade():
            super().on_message_complete()
            if not self._running:
                self._due = self.loop.time() + self.settings.keep_alive_seconds

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
            seconds = self.settings.receive_seconds if self._in_message else self.settings.keep_alive_seconds
            self._due = self.loop.time() + seconds
            self.watch.waiting[self] = None
        if not self.pipeline:
            self.flow.resume_reading()

    def check(self, now: float) -> None:
        """End the connection if the client is late: with a request, the rest of one, or taking what was sent."""
        if self._is_too_slow(self.transport.get_write_buffer_size(), now):
            self.transport.abort()
        elif not self._running and now >= self._due and not self.transport.is_closing():
            self.transport.close()

    def _is_too_slow(self, unsent: int, now: float) -> bool:
        """Return whether the client took less than it has to in a period that ends now. It may pause, or be slow."""
        before, since = self._unsent, self._unsent_since
        new = not unsent or unsent > before or not before  # nothing waits, or something new does
        if not new and now - since < self.settings.receive_seconds:
            return False
        self._unsent, self._unsent_since = unsent, now
        return not new and before - unsent < LEAST_BYTES

    def linger(self) -> None:
        """Send the end, and give the client a moment to read and to end too. What it still sends is discarded."""
        self._deaf = True
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        self.transport.write_eof()
        self._due = self.loop.time() + _LINGER_SECONDS

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cast(Cycle, cycle)
        self.watch.waiting.pop(self, None)
        super()._start_asgi_task(cycle, app)

    def _refuse(self, problem: HttpProblem) -> None:
        """Answer with a problem, after what was asked before, and end the connection."""
        if self._deaf:
            return
        self._deaf = True
        if self._in_message and self._in_body and not self._give_up_last():
            return
        url = self.url if self._messages else b""
        super().on_message_begin()  # the app answers it as a request, so that it is logged and counted
        self.scope |= {
            "method": self.parser.get_method().decode() if url else "-",
            "path": "",
            "raw_path": clip(url.partition(b"?")[0].decode("latin-1")).encode() or b"-",
            "query_string": b"",
            REFUSAL: problem,
        }
        # a client that still sends must be able to read the answer
        ends = SimpleNamespace(write=self.transport.write, is_closing=self.transport.is_closing, close=self.linger)
        refusal = self._new_cycle(ends, keep_alive=False)
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

    def _new_cycle(self, transport: Any, keep_alive: bool) -> Cycle:
        log, defaults = self.logger, self.server_state.default_headers
        rest = (asyncio.Event(), self.expect_100_continue, keep_alive, self.on_response_complete)
        self.scope[EXCHANGE] = cycle = Cycle(self.scope, transport, self.flow, log, log, False, defaults, *rest)
        cycle.arrived, cycle.watch = perf_counter(), self.watch
        return cycle


class Watch:
    """All connections of a process: one timer ends those that are late, and a full house makes room for a new one."""

    def __init__(self, settings: Settings) -> None:
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        free = sys.maxsize if descriptors == resource.RLIM_INFINITY else max(1, descriptors - _OTHER_DESCRIPTORS)
        self._most = min(settings.max_connections, free)
        shortest = min(settings.receive_seconds, settings.keep_alive_seconds) / _LOOKS
        self._seconds = min(max(shortest, _SHORTEST_WAIT), _LONGEST_WAIT)
        self._connections: set[Protocol] = set()
        self.waiting: dict[Protocol, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._warned = -_SECONDS_BETWEEN_WARNINGS

    def add(self, connection: Protocol, loop: asyncio.AbstractEventLoop) -> None:
        """Watch a new connection. If there are too many, end the one that has waited longest for a request."""
        if len(self._connections) >= self._most:
            if (now := loop.time()) >= self._warned + _SECONDS_BETWEEN_WARNINGS:
                self._warned = now
                log.warning("%d connections are open, no more are allowed: ending those that wait longest", self._most)
            longest = next(iter(self.waiting), connection)
            self.remove(longest)
            longest.transport.abort()
            if longest is connection:
                return
        self._connections.add(connection)
        self.waiting[connection] = None
        if self._timer is None:
            self._timer = loop.call_later(self._seconds, self._look, loop)

    @property
    def busy(self) -> int:
        """The number of connections that do not wait for a request."""
        return len(self._connections) - len(self.waiting)

    def remove(self, connection: Protocol) -> None:
        """Watch a connection no more, as it has ended."""
        self._connections.discard(connection)
        self.waiting.pop(connection, None)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in tuple(self._connections):
            connection.check(now)
        self._timer = loop.call_later(self._seconds, self._look, loop) if self._connections else None


def protocol_of(settings: Settings) -> type[Protocol]:
    """Return the protocol with the limits of the settings: uvicorn makes an instance for each connection."""
    return type("Protocol", (Protocol,), {"settings": settings, "watch": Watch(settings)})


def _refusal(error: HttpParserError) -> HttpProblem:
    """Return why the parser, or one of its callbacks, refuses a request. A failure of ours is raised as it is."""
    cause = error.__context__
    if not isinstance(error, HttpParserCallbackError):
        return malformed(f"{error}.")
    if isinstance(cause, HttpProblem):
        return cause
    if cause and not isinstance(cause, HttpParserInvalidURLError):
        raise cause
    return malformed("The target of the request is not one.")
