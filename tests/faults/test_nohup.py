"""The tests run as well in the background, where a shell has SIGINT ignored by all that it starts."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_what_tests_start_can_be_interrupted_though_the_run_ignores_interrupts():
    interrupted = "test_build_that_is_stopped_leaves_the_current_version_and_no_traceback"
    run = f"{sys.executable} -m pytest -q -p no:cacheprovider -p no:xdist tests/cli/test_terminal.py -k {interrupted}"
    done = subprocess.run(
        ["sh", "-c", f"trap '' INT; exec {run}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
