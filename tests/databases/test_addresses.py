"""Addresses are known without `hubless-databases`, which connects to them."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hubless.databases import addresses

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("scheme", addresses.FORMS)
@pytest.mark.parametrize("command", ["correct", "diagnose"])
def test_without_the_package_a_command_says_which_line_brings_it(command, scheme, run, tmp_path, monkeypatch):
    np.save(tmp_path / "bank.npy", np.eye(3, dtype=np.float32))
    monkeypatch.setattr(addresses, "entry_points", lambda **_: ())
    ended = run(command, f"{scheme}://localhost/a/things", "--query-bank", tmp_path / "bank.npy")
    said = re.search(rf"the package hubless-databases for {scheme}:// \((pip .*), in the repository", ended.err)
    assert ended.code == 1
    assert said is not None, ended.err
    if (command, scheme) == ("correct", "qdrant"):  # whose client is there: nothing has to be loaded
        given = [*shlex.split(said[1]), "--no-index", "--no-build-isolation", "--dry-run"]
        done = subprocess.run([sys.executable, "-m", *given], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "already satisfied: qdrant-client" in done.stdout
