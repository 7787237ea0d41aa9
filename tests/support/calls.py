"""Calls that change files, seen and refused: Python's, SQLite's, Arrow's and Faiss' alike. Linux, with a C compiler.

`run` starts a script in a process that has calls.c preloaded; there `watching` tells a function of each call.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from support import processes

COMPILER = shutil.which("cc") if sys.platform == "linux" else None
SHORT = -1
"""What a function answers to let a call write the first half only."""
_SOURCE = Path(__file__).with_suffix(".c")
_LIBRARY = "calls.so"
_TOLD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t)


def compile_into(folder):
    command = [COMPILER, "-shared", "-fPIC", "-O1", "-o", Path(folder) / _LIBRARY, _SOURCE, "-ldl"]
    subprocess.run(command, check=True)


def run(folder, script, *arguments, **options):
    """Run a script with arguments; what it printed. The library was compiled into the folder."""
    environment = {**processes.environment(), "LD_PRELOAD": str(Path(folder) / _LIBRARY)}
    command = [sys.executable, script, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@contextmanager
def watching(folder, told):
    """Tell a function of each call that changes a file below a folder, before it is made.

    It gets the name of the call, the path, the descriptor (−1 for none) and how many bytes are written. It answers 0 to
    let the call pass, an errno to let it fail, or `SHORT`.
    """
    watch = ctypes.CDLL(os.environ["LD_PRELOAD"]).watch

    def decoded(name, path, descriptor, size):
        return told(name.decode(), os.fsdecode(path), descriptor, size) or 0

    function = _TOLD(decoded)
    watch(os.fsencode(folder), function)
    try:
        yield
    finally:
        watch(b"", None)
