"""The page for newcomers is run as they would: block after block, in one shell and an empty folder, server included."""

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

PAGE = Path(__file__).parents[2] / "docs" / "hurting.md"
SECONDS = 240


def script(text):
    """All blocks as one bash script; Python blocks go to a Python's standard input."""
    parts = ["set -euo pipefail"]
    for language, block in re.findall(r"(?ms)^```(bash|python)\n(.*?)^```$", text):
        parts.append(block if language == "bash" else f"python - <<'END_OF_BLOCK'\n{block}END_OF_BLOCK\n")
    return "\n".join(parts)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


@pytest.mark.skipif(shutil.which("curl") is None, reason="the page asks the server with curl")
def test_page_for_newcomers_leads_from_files_to_a_served_corrected_collection(tmp_path):
    shell = subprocess.Popen(
        ["bash", "-c", script(PAGE.read_text().replace("8000", free_port()))],
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
    assert "hubness" in output
    assert '"hits"' in output
