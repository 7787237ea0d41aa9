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
from functools import partial
from math import ceil

import uvicorn
from fastapi import FastAPI

from hubless.kernels.quota import most_descriptors
from hubless_service.http.connection import protocol_of
from hubless_service.processes.signals import Signals
from hubless_service.settings import Settings, split

_log = logging.getLogger("hubless")

_PAUSE_SECONDS = 0.1  # after which a descriptor may be free
_TOGETHER = 64
"""Connections that are taken in a round of the loop: so many, or one of so many descriptors if there are few."""
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
        self._settings = settings
        self._engine = app.state.hubless.engine
        self._signals = signals
        self._on_stopped = on_stopped
        config = uvicorn.Config(
            app,
            loop="uvloop",
            http=protocol_of(settings),
            timeout_graceful_shutdown=ceil(settings.grace_seconds - settings.drain_seconds),
            log_config=None,  # ours, or none
            forwarded_allow_ips=split(settings.trusted_proxies),
            server_header=False,
            ws="none",
        )
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Heed signals in the event loop, in place of uvicorn's handlers; one that has come before is heeded too."""
        if self._signals:
            asyncio.get_running_loop().add_reader(self._signals.reader, self._heed)
            self._signals.watched = True
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Take connections by ourselves: uvloop has the first worker to wake take all that come together."""
        await super().startup([])
        self._tasks = [asyncio.create_task(self._take(each)) for each in sockets or ()]
        if self.should_exit and self.started:  # uvicorn before 0.42 would leave at once
            await self.shutdown(sockets)
            self.started = False

    async def _take(self, listener: socket.socket) -> None:
        """Take what waits together; beside other workers one, and one more each time, so that they take some, too."""
        loop = asyncio.get_running_loop()
        connect = partial(
            loop.connect_accepted_socket,
            # ours, which uvicorn types as any protocol
            partial(self.config.http_protocol_class, self.config, self.server_state),  # type: ignore[call-arg]
        )
        listener.setblocking(False)
        most = min(_TOGETHER, most_descriptors() // _TOGETHER)
        more = least = 0 if self._settings.workers > 1 else most
        while True:
            taken = list[socket.socket]()
            try:
                if more == least:
                    taken.append((await loop.sock_accept(listener))[0])
                for _ in range(more):
                    taken.append(listener.accept()[0])
            except BlockingIOError:  # none is left
                pass
            except OSError:  # no descriptor is free, so the next try would fail as well
                await asyncio.sleep(_PAUSE_SECONDS)
            more = min(more + 1, most) if taken else least
            await asyncio.gather(*map(connect, taken), return_exceptions=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop in order, and say so."""
        for task in self._tasks:
            task.cancel()
        await super().shutdown(sockets)
        self._on_stopped()

    def _heed(self) -> None:
        come = self._signals.heed() if self._signals else []
        # nobody needs to look away first if a terminal interrupts, or if no request was taken yet
        seconds = self._settings.drain_seconds if come[:1] == [signal.SIGTERM] and self.started else 0
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
