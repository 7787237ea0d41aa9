"""HTTP over connections: uvicorn's protocol, with limits of size, time and number, and problem documents.

uvicorn reads a head of any size, queues any number of requests, and waits for ever for a client that has sent a part of
a body after its answer. Its parser, llhttp, is strict about where a request ends; this module keeps that parser. All
names of uvicorn's insides stand here and in `cycle`; pyproject.toml bounds its version for them.
"""

import asyncio
from time import perf_counter
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import unquote

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser, parse_url
from uvicorn._types import ASGI3Application
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from hubless_service.http.cycle import Cycle
from hubless_service.http.problems import HttpProblem, clip
from hubless_service.http.request_heads import malformed, problem_of, refusal_of, too_large
from hubless_service.http.trace import EXCHANGE, REFUSAL
from hubless_service.http.watch import Watch
from hubless_service.settings import Settings

FORWARDED = frozenset({b"x-forwarded-for", b"x-forwarded-proto"})
"""Headers of a proxy that say for whom it asks."""
PEER = "hubless.peer"
"""In the scope of a request: who is connected, unless a proxy is named, whose word counts."""
LEAST_BYTES = 65_536
"""Bytes of its answers that a client has to take in each period, or all if less is left."""
_AT_ONCE = 16_384  # bytes that are parsed between two looks at the limits
_LINGER_SECONDS = 2.0
_FLOOD = 65_536  # bytes that came at once
_PAUSE_SECONDS = 0.001
_BODY_TO_FRAMING = 8  # a byte of framing is allowed for so many of a body


class Protocol(HttpToolsProtocol):
    """One connection.

    It is always in one of these states, and each has an end in time: a request is answered (the app has time limits);
    or the next one is expected, or it comes, or the rest of one that was answered early does (`_due`); and in each of
    them the client has to take what it was sent.
    """

    settings: Settings
    watch: Watch
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
        """Parse some bytes of the connection, and refuse a message that breaks a rule or a limit."""
        messages = self._messages
        body = self._body
        again = b""
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            # a server may ignore it (RFC 9110, 7.8), but the parser has passed over the body: it gets the head again
            lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())]
            lines += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
            again = b"\r\n".join([*lines, b"", data[upgrade.args[0] :]])
        except HttpParserError as error:
            self._refuse(refusal_of(error))
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
        """Have the app answer the request whose head has come, after those before it. Raises what is wrong with it."""
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                raise malformed("method: CONNECT is for proxies")
            return
        version = self.parser.get_http_version()
        if problem := problem_of(version, self.url, self.headers, self.settings):
            raise problem
        # whether a proxy is believed costs more to find out than the app's other layers
        app = self._unproxied if FORWARDED.isdisjoint(dict(self.headers)) else self.app
        parts = parse_url(self.url)
        before = self.cycle
        path = parts.path.decode("ascii")
        self.scope |= {
            "http_version": version,
            "method": self.parser.get_method().decode("ascii"),
            "path": unquote(path) if "%" in path else path,
            "raw_path": parts.path,
            "query_string": parts.query or b"",
            # this machine is trusted by default, and whoever is on it could say any address
            PEER: None if "trusted_proxies" in self.settings.model_fields_set else self.client,
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
            if not self.pipeline:
                self.flow.resume_reading()  # a large body pauses it, and nobody would hear that the client hangs up
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
        """Return the request whose head has come, as the app sees it; its answer goes to `transport`."""
        log = self.logger
        self.scope[EXCHANGE] = cycle = Cycle(
            self.scope,
            transport,
            self.flow,
            log,
            log,
            False,
            self.server_state.default_headers,
            asyncio.Event(),
            self.expect_100_continue,
            keep_alive,
            self.on_response_complete,
        )
        cycle.arrived = perf_counter()
        cycle.watch = self.watch
        return cycle


def protocol_of(settings: Settings) -> type[Protocol]:
    """Return the protocol with the limits of the settings: uvicorn makes an instance for each connection."""
    return type("Protocol", (Protocol,), {"settings": settings, "watch": Watch(settings)})
