"""The fixture `run`: commands in this process."""

import json
import sys
from typing import NamedTuple

import pytest

from hubless.cli.application import main


class Ended(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def table(self):
        """The cells of a printed table, line by line."""
        lines = (line for line in self.out.splitlines() if line[0] in "│┃")
        return [[cell.strip() for cell in line[1:-1].replace("┃", "│").split("│")] for line in lines]


@pytest.fixture
def run(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")

    def run_command(*words):
        monkeypatch.setattr(sys, "argv", ["hubless", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Ended(ended.value.code or 0, printed.out, printed.err)

    return run_command
