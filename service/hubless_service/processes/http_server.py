"""The app on a socket, and how it ends."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil

import uvicorn
from fastapi import FastAPI

from hubless.kernels.quota import most_descriptors
from hubless_service.http.connection import protocol_of
from hubless_service.processes.signals import Signals
from hubless_service.settings import Settings, split

_log = logging.getLogger("hubless")

_LISTENERS, _SHARE_OF_LISTENERS = 64, 64
"""Copies of a socket that a worker listens to: so many, or one of so many descriptors if there are few."""
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
        self._signals = signals
        self._on_stopped = on_stopped
        config = uvicorn.Config(
            app,
            loop="uvloop",
            http=protocol_of(settings),
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
        """Listen to each socket several times: of each, uvloop takes one connection in a round of its loop."""
        for each in sockets or ():
            each.setblocking(False)  # a copy of one that blocks would have all workers block
        copies = min(_LISTENERS, most_descriptors() // _SHARE_OF_LISTENERS)
        await super().startup([each.dup() for each in sockets or () for _ in range(copies)])
        if self.should_exit and self.started:  # uvicorn before 0.42 would leave at once
            await self.shutdown(sockets)
            self.started = False

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop in order, and say so."""
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
