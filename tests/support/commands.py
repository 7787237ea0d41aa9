"""The fixture `run`, commands in this process, and `prepared`, a folder of what they read."""

import json
import shutil
import sys
from typing import NamedTuple

import pytest
from support import printed

import hubless
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


@pytest.fixture(scope="session")
def _printed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("printed")
    printed.write_files(folder)
    for index in ("flat", "hnsw"):
        given = (folder / "catalog", "things", folder / "targets.npy", folder / "bank.npy")
        hubless.build(*given, payload=folder / "payload.csv", index=index)
    return folder


@pytest.fixture
def prepared(_printed, tmp_path):
    """A folder with all that the commands of support/printed.py read, and a collection of two versions."""
    return shutil.copytree(_printed, tmp_path / "prepared")
