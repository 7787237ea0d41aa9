"""Processes of their own, for what cannot be tested in this one."""

import json
import os
import socket
import subprocess
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path

# the command, and all that it starts in turn, end with it, with the guard, or when the guard's input ends
_GUARD = """
import os, signal, subprocess, sys, threading

def wait_for_the_owner():
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)

signal.signal(signal.SIGTERM, lambda *_: command.terminate())
command = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
threading.Thread(target=wait_for_the_owner, daemon=True).start()
command.wait()
os.killpg(0, signal.SIGKILL)
"""
TESTS = str(Path(__file__).parents[1])


def environment():
    """The environment of a child that imports what the tests import, and takes one core."""
    found = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([TESTS, *([found] if found else [])]), "OMP_NUM_THREADS": "1"}


def python(*arguments):
    """What a Python of its own prints, in that environment."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def in_child(work):
    """Do `work(tell)` in a process of its own. Return all that it told by keyword, and lists of what it told often.

    `error` is None if it came to its end, else the name of the exception, or "killed"; `text` says more, and `known`
    whether it is an error of hubless.
    """
    from hubless.errors import HublessError  # here, as children are forked by processes that load little

    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reading)

        def tell(**what):
            os.write(writing, json.dumps(what).encode() + b"\n")

        try:
            work(tell)
            tell(error=None, text="")
        except BaseException as error:
            known = isinstance(error, HublessError)
            tell(error=type(error).__name__, known=known, text=str(error) if known else traceback.format_exc())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        lines = [json.loads(line) for line in pipe]
    _, status = os.waitpid(child, 0)
    found = {"error": "killed", "known": True, "text": str(os.waitstatus_to_exitcode(status))}
    for line in lines:
        for key, value in line.items():
            found[key] = [*found.get(key, []), value] if key in ("acknowledged", "refused") else value
    return found


def guarded(command, **options):
    """Start a program that may start others. They all end with it, or with this process, even if that is killed."""
    guard = [sys.executable, "-c", _GUARD, *command]
    return subprocess.Popen(guard, stdin=subprocess.PIPE, start_new_session=True, **options)


@contextmanager
def started(command, **options):
    """A process that ends with the block at the latest, whatever fails in it."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()
