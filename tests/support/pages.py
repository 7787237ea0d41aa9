"""Pages that are run as a reader would: block after block, in one shell and an empty folder, servers included."""

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page):
    """Language and text of the code blocks that can be run."""
    return re.findall(r"(?ms)^```(bash|python)\n(.*?)^```$", (DOCS / page).read_text("utf-8"))


def script(page):
    """All blocks as one bash script; Python blocks go to a Python's standard input."""
    parts = ["set -euo pipefail"]
    for language, block in blocks(page):
        parts.append(block if language == "bash" else f"python - <<'END_OF_BLOCK'\n{block}END_OF_BLOCK\n")
    return "\n".join(parts)


def run(page, folder, seconds):
    """What the blocks of a page print; its port 8000 is a free one."""
    shell = subprocess.Popen(
        ["bash", "-c", script(page).replace("8000", _free_port())],
        cwd=folder,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = shell.communicate(timeout=seconds)
    finally:
        with suppress(ProcessLookupError):  # where a block failed, the server still runs
            os.killpg(shell.pid, signal.SIGKILL)
    assert shell.returncode == 0, output
    return output


def _free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])
