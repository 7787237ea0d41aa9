"""A connection of our own server: requests come by httptools' parser, with limits of size, time and number.

The parser, llhttp, is strict about where a request ends. Listening sockets and the end of the process are uvicorn's.
"""

import asyncio
from collections import deque
from typing import Any
from urllib.parse import unquote

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser, parse_url
from starlette.types import Scope
from uvicorn import Config
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from hubless_service.http.exchange import Exchange
from hubless_service.http.problems import HttpProblem, clip
from hubless_service.http.request_heads import malformed, problem_of, refusal_of, too_large
from hubless_service.http.trace import SCOPE_KEY, Headers, heads_of
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
_ASGI = {"version": "3.0", "spec_version": "2.3"}


class Connection(asyncio.Protocol):
    """One connection.

    It is always in one of these states, and each has an end in time: a request is answered (the app has time limits);
    or the next one is expected, or it comes, or the rest of one that was answered early does (`_due`); and in each of
    them the client has to take what it was sent.
    """

    settings: Settings
    watch: Watch
    transport: asyncio.Transport
    client: tuple[str, int] | None

    def __init__(self, config: Config, server_state: Any, **others: Any) -> None:
        """Of uvicorn's `Config`, with what its server counts in `server_state`."""
        self._loop = asyncio.get_running_loop()
        self._app: Any = config.loaded_app
        self._unproxied: Any = self._app.app if isinstance(self._app, ProxyHeadersMiddleware) else self._app
        self.server = server_state
        self._named_proxies = "trusted_proxies" in self.settings.model_fields_set
        self.writable: asyncio.Future[None] | None = None  # while the client has to take what it was sent
        self._hears = True
        self._running: Exchange | None = None
        self._coming: Exchange | None = None  # the last that came, whole or not
        self._pipeline: deque[tuple[Exchange, Any]] = deque()
        self._due = 0.0  # by the loop's clock; counts while nothing is answered
        self._unsent, self._unsent_since = 0, 0.0
        self._deaf = False  # what still comes is discarded
        self._messages = 0
        self._in_message = self._in_body = False
        self._body = self._framing = 0  # bytes of the message that comes: of its body, and of all else
        self._url = b""
        self._headers: Headers = []
        self._parser = self._new_parser()

    def _new_parser(self) -> HttpRequestParser:
        parser = HttpRequestParser(self)
        # what comes after the last request is not answered, and does not take its answer away
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    # for asyncio

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.server.connections.add(self)
        self.transport = transport
        names = [transport.get_extra_info(name) for name in ("sockname", "peername")]
        server, self.client = [(str(name[0]), int(name[1])) if isinstance(name, tuple) else None for name in names]
        self._scope = {"type": "http", "asgi": _ASGI, "scheme": "http", "root_path": "", "server": server}
        self._due = self._loop.time() + self.settings.receive_seconds
        self.watch.add(self, self._loop)

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.connections.discard(self)
        self.watch.remove(self)
        for exchange in (self._running, *(waiting for waiting, _ in self._pipeline)):
            if exchange:
                exchange.disconnect()
        self._pipeline.clear()
        self.resume_writing()

    def pause_writing(self) -> None:
        self.writable = self._loop.create_future()

    def resume_writing(self) -> None:
        writable, self.writable = self.writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), _AT_ONCE):
            if self._deaf:
                break
            self._feed(data[start : start + _AT_ONCE])
        if len(data) >= _FLOOD and (self._deaf or not self._running):
            # libuv reads up to 8 MiB of one connection before it looks at the others
            self._pause()
            self._loop.call_later(_PAUSE_SECONDS, self._go_on)

    def shutdown(self) -> None:
        """End when all that has come is answered: the server stops."""
        if self._running and self._coming:
            self._coming.keep_alive = False
        else:
            self.transport.close()

    # for what answers

    def read_on(self) -> None:
        """Hear the client again."""
        if not self._hears:
            self._hears = True
            self.transport.resume_reading()

    def end(self, exchange: Exchange) -> None:
        """Go on after an answer: with the next request, or with the end."""
        self.server.total_requests += 1
        self._running = None
        if not exchange.keep_alive:
            if exchange.refusal:  # a client that still sends must be able to read the answer
                self.linger()
            else:
                self.transport.close()
        if self.transport.is_closing():
            return
        if self._pipeline:
            self._start(*self._pipeline.pop())
        elif self._deaf:
            self.linger()
        else:
            seconds = self.settings.receive_seconds if self._in_message else self.settings.keep_alive_seconds
            self._due = self._loop.time() + seconds
            self.watch.waiting[self] = None
        if not self._pipeline:
            self.read_on()

    def check(self, now: float) -> None:
        """End the connection if the client is late: with a request, the rest of one, or taking what was sent."""
        if self._is_too_slow(self.transport.get_write_buffer_size(), now):
            self.transport.abort()
        elif not self._running and now >= self._due and not self.transport.is_closing():
            self.transport.close()

    def linger(self) -> None:
        """Send the end, and give the client a moment to read and to end too. What it still sends is discarded."""
        self._deaf = True
        if self.transport.is_closing():
            return
        self.read_on()
        self.transport.write_eof()
        self._due = self._loop.time() + _LINGER_SECONDS

    # for the parser

    def on_message_begin(self) -> None:
        if self._coming and not self._coming.keep_alive:
            self._deaf = True  # the request before is the last
        elif len(self._pipeline) >= self.settings.max_pipelined:
            detail = f"{self.settings.max_pipelined} requests wait on this connection already, and no more may."
            raise HttpProblem("head_too_large", detail)
        if self._deaf:
            raise malformed("connection: it ends with the request before")  # nobody reads this
        self._messages += 1
        self._in_message, self._in_body = True, False
        self._body = self._framing = 0
        self._url, self._headers = b"", []
        if not self._running:
            self._due = self._loop.time() + self.settings.receive_seconds

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Have the app answer the request whose head has come, after those before it. Raises what is wrong with it."""
        parser = self._parser
        if parser.should_upgrade():
            if parser.get_method() == b"CONNECT":
                raise malformed("method: CONNECT is for proxies")
            return
        version = parser.get_http_version()
        if problem := problem_of(version, self._url, self._headers, self.settings):
            raise problem
        heads = heads_of(self._headers)
        parts = parse_url(self._url)
        method = parser.get_method().decode("ascii")
        lasts = parser.should_keep_alive() and version != "1.0"
        exchange = self._come(version, method, parts.path, parts.query or b"", heads, keep_alive=lasts)
        # whether a proxy is believed costs more to find out than the app's other layers
        app = self._unproxied if FORWARDED.isdisjoint(heads) else self._app
        if self._running is None:
            self._start(exchange, app)
        else:
            self._pause()
            self._pipeline.appendleft((exchange, app))
        self._in_body = True
        self._framing = 0
        self._headers = []  # trailers are no headers (RFC 9110, 6.5.1)

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        if self._coming and not self._coming.answered and self._coming.take(body):
            self._pause()

    def on_message_complete(self) -> None:
        self._in_message = False
        if self._parser.should_upgrade():
            return
        if self._coming:
            self._coming.end_body()
        if not self._pipeline:
            self.read_on()  # a large body pauses it, and nobody would hear that the client hangs up
        if not self._running:
            self._due = self._loop.time() + self.settings.keep_alive_seconds

    # inside

    def _go_on(self) -> None:
        if not self.transport.is_closing() and not self._pipeline:
            self.read_on()

    def _pause(self) -> None:
        if self._hears:
            self._hears = False
            self.transport.pause_reading()

    def _feed(self, data: bytes) -> None:
        """Parse some bytes of the connection, and refuse a message that breaks a rule or a limit."""
        messages = self._messages
        body = self._body
        again = b""
        parser = self._parser
        try:
            parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            # a server may ignore it (RFC 9110, 7.8), but the parser has passed over the body: it gets the head again
            lines = [b"%b %b HTTP/%b" % (parser.get_method(), self._url, parser.get_http_version().encode())]
            lines += [name + b": " + value for name, value in self._headers if name != b"upgrade"]
            again = b"\r\n".join([*lines, b"", data[upgrade.args[0] :]])
        except HttpParserError as error:
            self._refuse(refusal_of(error))
            return
        if again:  # not while an exception is handled, which would become the context of others
            self._parser = self._new_parser()
            self._feed(again)
            return
        if self._in_message and messages == self._messages:
            self._framing += len(data) - (self._body - body)
        too_much = self._framing > self.settings.max_head_bytes + self._body // _BODY_TO_FRAMING
        trailers = self._in_message and not self._in_body and len(self._headers) > self.settings.max_headers
        if too_much or trailers:
            few = malformed("The body comes in chunks that are too small, or with too long extensions or trailers.")
            self._refuse(few if self._in_body else too_large(self.settings))

    def _come(
        self, version: str, method: str, path: bytes, query: bytes, heads: dict[bytes, bytes], *, keep_alive: bool
    ) -> Exchange:
        """Return the request whose head has come."""
        text = path.decode("ascii")
        scope: Scope = {
            **self._scope,
            "client": self.client,
            "http_version": version,
            "method": method,
            "path": unquote(text) if "%" in text else text,
            "raw_path": path,
            "query_string": query,
            "headers": self._headers,
            # this machine is trusted by default, and whoever is on it could say any address
            PEER: None if self._named_proxies else self.client,
        }
        exchange = Exchange(self, scope, heads, keep_alive=keep_alive)
        scope[SCOPE_KEY] = self._coming = exchange
        return exchange

    def _start(self, exchange: Exchange, app: Any) -> None:
        self._running = exchange
        self.watch.waiting.pop(self, None)
        # with a name: to number one takes as long as to begin
        task = asyncio.Task(app(exchange.scope, exchange.receive, None), loop=self._loop, name="request")
        self.server.tasks.add(task)
        task.add_done_callback(self.server.tasks.discard)

    def _is_too_slow(self, unsent: int, now: float) -> bool:
        """Return whether the client took less than it has to in a period that ends now. It may pause, or be slow."""
        before, since = self._unsent, self._unsent_since
        new = not unsent or unsent > before or not before  # nothing waits, or something new does
        if not new and now - since < self.settings.receive_seconds:
            return False
        self._unsent, self._unsent_since = unsent, now
        return not new and before - unsent < LEAST_BYTES

    def _refuse(self, problem: HttpProblem) -> None:
        """Answer with a problem, after what was asked before, and end the connection."""
        if self._deaf:
            return
        self._deaf = True
        if self._in_message and self._in_body and not self._give_up_last():
            return
        url = self._url if self._messages else b""
        # the app answers it as a request, so that it is logged and counted
        self._headers = []
        path = clip(url.partition(b"?")[0].decode("latin-1")).encode() or b"-"
        refusal = self._come("1.1", self._parser.get_method().decode() if url else "-", b"", b"", {}, keep_alive=False)
        refusal.scope["raw_path"] = path
        refusal.refusal = problem
        if self._running:
            self._pipeline.appendleft((refusal, self._app))
        else:
            self._start(refusal, self._app)

    def _give_up_last(self) -> bool:
        """Answer the request that comes no more; whether another answer to it can be sent."""
        if self._pipeline and self._pipeline[0][0] is self._coming:
            self._pipeline.popleft()
        elif not self._running:
            self.linger()  # it was answered early
            return False
        else:
            self._running.disconnect()
            self._running = None
        return True


def protocol_of(settings: Settings) -> type[Connection]:
    """Return the protocol with the limits of the settings: uvicorn makes an instance for each connection."""
    return type("Protocol", (Connection,), {"settings": settings, "watch": Watch(settings)})
