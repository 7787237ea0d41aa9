"""Completion, by the protocol that the scripts of the shells speak."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(("line", "offered"), [("hubless diag", "diagnose"), ("hubless build --query", "--query-bank")])
def test_bash_is_offered_commands_and_options(line, offered):
    asked = {"_HUBLESS_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    command = [sys.executable, "-m", "hubless"]
    ended = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split() == [offered]
