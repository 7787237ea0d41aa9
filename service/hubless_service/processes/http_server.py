"""The app on a socket, and how it ends."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from math import ceil

import uvicorn
from fastapi import FastAPI

from hubless_service.http.connection import protocol_of
from hubless_service.processes.signals import Signals
from hubless_service.settings import Settings, split

_log = logging.getLogger("hubless")

_TURN_SECONDS = 0.001
"""Time that workers with fewer connections have to take the next one."""
_MORE = 8  # a worker may have one more connection than another for each so many
_SWITCH_SECONDS = 0.0001  # that a thread may keep the others from Python; 5 ms by default, longer than many a search
# Collections of garbage, by generation. A full one stops all threads for as long as it takes to look at every object:
# 100 ms while a large answer is made. Nearly all garbage is found when it is young.
_GARBAGE_THRESHOLDS = (10_000, 10, 1000)


class HttpServer(uvicorn.Server):
    """uvicorn's server, but it stops in order at the first signal, and to have stopped so is no failure."""

    def __init__(
        self, app: FastAPI, signals: Signals | None = None, on_stopped: Callable[[], None] = lambda: None
    ) -> None:
        """Without `signals` nothing stops it but `should_exit`. `on_stopped` is called once all requests have ended."""
        settings: Settings = app.state.hubless.settings
        self._drain_seconds = settings.drain_seconds
        self._engine = app.state.hubless.engine
        self._shared = self._engine.shared
        self._protocol = protocol_of(settings)
        self._signals = signals
        self._on_stopped = on_stopped
        config = uvicorn.Config(
            app,
            loop="uvloop",
            http=self._protocol,
            timeout_graceful_shutdown=ceil(settings.grace_seconds - settings.drain_seconds),
            log_config=None,  # ours, or none
            access_log=False,  # the middleware's line says more
            server_header=False,
            forwarded_allow_ips=split(settings.trusted_proxies),
            ws="none",
        )
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Heed signals in the event loop, in place of uvicorn's handlers; one that has come before is heeded too."""
        if self._signals is None:
            yield
            return
        loop = asyncio.get_running_loop()
        reader = self._signals.reader
        loop.add_reader(reader, self._heed)
        self._signals.watched = True
        try:
            yield
        finally:
            loop.remove_reader(reader)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Take connections by ourselves, as uvloop's first worker to wake takes all that come together."""
        await super().startup([])
        self._taking = asyncio.gather(*map(self._take, sockets or ()))

    async def _take(self, listener: socket.socket) -> None:
        """Take connections, each time after the workers that have fewer."""
        loop, comes = asyncio.get_running_loop(), asyncio.Event()
        connect = partial(loop.connect_accepted_socket, partial(self._protocol, self.config, self.server_state))
        listener.setblocking(False)
        try:
            while True:
                loop.add_reader(listener, comes.set)
                await comes.wait()
                loop.remove_reader(listener)
                comes.clear()
                taken = list[socket.socket]()
                with suppress(OSError):  # others have taken the rest
                    while not self._is_ahead(len(taken)):
                        taken.append(listener.accept()[0])
                if not taken:
                    await asyncio.sleep(_TURN_SECONDS)
                    with suppress(OSError):
                        taken.append(listener.accept()[0])
                await asyncio.gather(*map(connect, taken), return_exceptions=True)
        finally:
            loop.remove_reader(listener)

    async def on_tick(self, counter: int) -> bool:
        """Count connections, as some have ended."""
        self._is_ahead(0)
        return await super().on_tick(counter)

    def _is_ahead(self, taken: int) -> bool:
        """Return if another worker has fewer connections; so many of ours are not counted yet."""
        connections = self._shared.connections
        connections[self._shared.slot] = ours = 1 + len(self.server_state.connections) + taken
        return bool(ours - ours // _MORE > min(filter(None, connections)))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop in order, and say so."""
        self._taking.cancel()
        await asyncio.wait([self._taking])
        await super().shutdown(sockets)
        self._on_stopped()

    def _heed(self) -> None:
        come = self._signals.heed() if self._signals else []
        # nobody needs to look away first if a terminal interrupts, or if no request was taken yet
        seconds = self._drain_seconds if come[:1] == [signal.SIGTERM] and self.started else 0
        if not come or (self._engine.draining and seconds):
            return
        self._engine.draining = True
        _log.info("stopping: not ready any more, no new connections in %g s", seconds)
        asyncio.get_running_loop().call_later(seconds, setattr, self, "should_exit", True)


def share_python() -> None:
    """Switch between threads often, and seldom stop all of them to collect garbage."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()  # what has been imported by now stays
    gc.set_threshold(*_GARBAGE_THRESHOLDS)


def leave() -> None:
    """End the process at once. Python's own end would wait for threads, or abort below one in foreign code."""
    logging.shutdown()
    os._exit(0)
