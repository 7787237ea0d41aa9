"""Processes of their own, for what cannot be tested in this one."""

import os
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path

TESTS = str(Path(__file__).parents[1])


def environment():
    """The environment of a child that imports what the tests import, and takes one core."""
    found = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([TESTS, *([found] if found else [])]), "OMP_NUM_THREADS": "1"}


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def started(command, **options):
    """A process that ends with the block at the latest, whatever fails in it."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()
