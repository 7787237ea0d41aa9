"""The app on a socket, and how it ends."""

import logging
import os
import signal
import threading
from types import FrameType

import uvicorn
from fastapi import FastAPI

from hubless_service.http.protocol import protocol_of
from hubless_service.settings import split
from hubless_service.state import State

log = logging.getLogger("hubless")

SWITCH_SECONDS = 0.0001
"""How long a thread may keep the others from running Python: by default 5 ms, ten times as long as many a search."""


class Server(uvicorn.Server):
    """uvicorn's, but told twice to stop it stops at once, and what ends in order is no failure."""

    def __init__(self, app: FastAPI) -> None:
        self._state: State = app.state.hubless
        settings = self._state.settings
        config = uvicorn.Config(
            app,
            loop="uvloop",
            http=protocol_of(settings.receive_seconds),
            timeout_keep_alive=settings.keep_alive_seconds,
            timeout_graceful_shutdown=settings.grace_seconds,
            log_config=None,  # ours, or none
            access_log=False,  # the middleware's line says more
            server_header=False,
            forwarded_allow_ips=split(settings.trusted_proxies),
            ws="none",
        )
        super().__init__(config)
        # of the requests that have arrived, this one alone is not answered
        self._state.engine.answer_here_if(lambda: len(self.server_state.tasks) <= 1)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop in order at the first signal, and at once at the second."""
        if self._state.engine.draining:
            signal.signal(sig, signal.SIG_DFL)
            os.kill(os.getpid(), sig)
        self._state.engine.drain()
        # a terminal's interrupt need not wait for a load balancer to look away, nor who has taken no request yet
        seconds = self._state.settings.drain_seconds if sig == signal.SIGTERM and self.started else 0
        log.info("stopping: not ready any more, no new connections in %g s", seconds)
        threading.Timer(seconds, self._stop).start()

    def _stop(self) -> None:
        self.should_exit = True
