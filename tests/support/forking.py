"""Scripts that fork. Each runs in a process of its own, whose children would hang for ever if they hung."""

import subprocess
import sys
from textwrap import dedent

SECONDS = 300
"""After that it hangs, whatever else the machine does."""

BEGIN = """
import os, sys, threading
import numpy as np
import hubless

numbers = np.random.default_rng(0)
TARGETS, QUERIES = (numbers.standard_normal((rows, 16)).astype("f4") for rows in (3000, 300))

def in_child(work):
    if not (child := os.fork()):
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return child

def right(child):
    assert os.waitpid(child, 0)[1] == 0
"""


END = """
os.write(1, b"done")
os._exit(0)  # threads of OpenMP that still work would end it by an abort
"""


def forks(script, *arguments):
    """Run a script that begins as above. Each of its children ends, and ends well."""
    command = [sys.executable, "-W", "ignore", "-c", BEGIN + dedent(script) + END, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.stdout, done.returncode) == ("done", 0), done.stderr
