"""The quickstart is run as a reader would: block after block, in one shell and an empty folder, the server included."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "quickstart.md"
SECONDS = 120


def blocks(text):
    return re.findall(r"(?ms)^```(bash|python)\n(.*?)^```$", text)


def script(text):
    """All blocks as one bash script; Python blocks go to a Python's standard input."""
    parts = ["set -euo pipefail"]
    for language, block in blocks(text):
        parts.append(block if language == "bash" else f"python - <<'END_OF_BLOCK'\n{block}END_OF_BLOCK\n")
    return "\n".join(parts)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def test_quickstart_has_blocks_of_both_kinds():
    assert {language for language, _ in blocks(PAGE.read_text())} == {"bash", "python"}


@pytest.mark.skipif(shutil.which("curl") is None, reason="the quickstart asks the server with curl")
def test_quickstart_runs_as_written(tmp_path):
    port = str(free_port())
    text = PAGE.read_text().replace("8000", port)
    shell = subprocess.Popen(
        ["bash", "-c", script(text)],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = shell.communicate(timeout=SECONDS)
    finally:
        with suppress(ProcessLookupError):  # where a block failed, the server still runs
            os.killpg(shell.pid, signal.SIGKILL)
    assert shell.returncode == 0, output
    assert '"hits"' in output
