"""The adapters of frameworks have environments of their own. Their tests run there, against a real server here."""

import os
import subprocess
from pathlib import Path

import pytest
from support.server_process import served

ROOT = Path(__file__).parents[2]
KEY = "key-of-the-adapters-tests"


def run_in_environment(name, *command, **variables):
    """Run a command of an adapter's environment in its folder; skip where `make NAME` has not made it.

    Parameters
    ----------
    name : of the folder below clients/
    command : a program of the environment and its arguments
    """
    home = ROOT / "clients" / name
    program = ROOT / f".venv-{name}" / "bin" / command[0]
    if not program.exists():
        # CI must not pass by skipping
        assert not os.environ.get("CI"), f"CI needs `make {name}`"
        pytest.skip(f"needs `make {name}`")
    done = subprocess.run(
        [str(program), *command[1:]], cwd=home, env=os.environ | variables, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_tests(name, catalog):
    """Run an adapter's own tests and its README against a server of an empty catalog. Returns what pytest printed."""
    with served(catalog, admin_keys=KEY) as server:
        return run_in_environment(
            name, "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", HUBLESS_URL=server.url, HUBLESS_KEY=KEY
        )
