"""Every command of the page of papers runs, on made-up data."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from support.labelled import pairs

from hubless.cli.application import main
from hubless.cli.evaluate import entries_from

PAGE = (Path(__file__).parents[2] / "docs" / "papers.md").read_text("utf-8")
SHARED = dict(re.findall(r'(?m)^(\w)="(.*)"$', PAGE))
WRITTEN = dict.fromkeys(re.findall(r"`(hubless [^`]+)`", PAGE))
COMMANDS = [re.sub(r"\$(\w)", lambda name: SHARED[name[1]], command) for command in WRITTEN]
COUNT = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    given, bank, other = pairs(COUNT), pairs(60, seed=1), pairs(60, seed=2)
    arrays = {
        "q": given.queries,
        "t": given.targets,
        "right": np.arange(COUNT),
        "bank": bank.queries,
        "more": bank.targets,
        "other": other.queries,
        "s": given.queries @ given.targets.T,
        "s-bank": bank.queries @ given.targets.T,
        "s-more": bank.queries @ bank.targets.T,
        "items": given.targets,
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    (folder / "gender.txt").write_text("\n".join(["woman", "man"] * (COUNT // 2)))
    (folder / "same.json").write_text(json.dumps([[row - row % 2, row - row % 2 + 1] for row in range(COUNT)]))
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command.split()[1:2]))
def test_command_of_a_row_runs(command, folder, monkeypatch, capsys):
    if "distances=true" in command or "otn" in command:
        pytest.importorskip("ot")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", command.split())
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert not ended.value.code, printed.err
    assert printed.out


def test_every_row_of_a_paper_has_a_command_or_says_why_not():
    papers = re.findall(r"(?ms)^## [^\n]*20\d\d\n.*?(?=^## |\Z)", PAGE)
    assert len(papers) == 5
    for paper in papers:
        rows = [line.strip("|").split(" | ") for line in paper.splitlines() if line.startswith("| ")][2:]
        assert len(rows) >= 5
        assert all(len(row) == 2 and row[1].strip() for row in rows)


def test_files_of_the_commands_are_explained():
    used = {
        word for command in COMMANDS for word in re.split(r"[ =]", command) if re.search(r"\.(npy|txt|json)$", word)
    }
    assert all(f"`{name}`" in PAGE for name in used)


def test_every_setting_of_the_last_table_is_one_that_evaluate_takes():
    table = PAGE.partition("## Methods and their settings in the papers")[2]
    cells = re.findall(r"(?m)^\| .* \| ([^|]*) \|$", table)[1:]
    settings = [setting for cell in cells for setting in re.findall(r"`([^`]+)`", cell)]
    assert len(settings) > 10
    for entry in entries_from(settings):
        entry.check()
