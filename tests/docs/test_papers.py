import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from support.labelled import pairs

from hubless.lab.papers import presets_of

PAGE = (Path(__file__).parents[2] / "docs" / "papers.md").read_text("utf-8")
SHARED = dict(re.findall(r'(?m)^(\w)="(.*)"$', PAGE))
WRITTEN = dict.fromkeys(re.findall(r"`((?:hubless|paper) [^`]+)`", PAGE))


def filled(written):
    command = re.sub(r"^paper (\S+)", r"hubless evaluate --paper \1 --table", written)
    while "$" in command:
        command = re.sub(r"\$(\w)", lambda name: SHARED[name[1]], command)
    return command


COMMANDS = [filled(written) for written in WRITTEN]
COUNT = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    given, bank, other = pairs(COUNT), pairs(1300, seed=1), pairs(700, seed=2)
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
    captions = {
        "sims": given.queries @ given.targets[: COUNT // 2].T,
        "sims-bank": bank.queries @ given.targets[: COUNT // 2].T,
        "mask": np.tile([1.0, 0.0, 1.0, 1.0], COUNT // 4).reshape(-1, 2),
    }
    for name, array in captions.items():
        (folder / f"{name}.pkl").write_bytes(pickle.dumps(array))
    (folder / "gender.txt").write_text("\n".join(["woman", "man"] * (COUNT // 2)))
    (folder / "same.json").write_text(json.dumps([[row - row % 2, row - row % 2 + 1] for row in range(COUNT)]))
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command.split()[1:2]))
def test_command_of_a_row_runs(command, folder, monkeypatch, run):
    if re.search("--paper dbsn --table (6|figure-[78])", command):
        pytest.importorskip("ot")
    monkeypatch.chdir(folder)
    ended = run(*command.split()[1:])
    assert ended.code == 0, ended.err
    assert ended.out


def rows_by_paper():
    papers = re.findall(r"(?ms)^## ([^\n,]*), [^\n]*20\d\d\n(.*?)(?=^## |\Z)", PAGE)
    lines = {name: [line for line in text.splitlines() if line.startswith("| ")][2:] for name, text in papers}
    return {name: [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[name]] for name in lines}


def tables_of(cell):
    """Return the tables that a first cell names, as in "4, A7–A10, figure 2"."""
    named = re.findall(r"(A?)(\d+)(?:–A?(\d+))?", cell.partition("figure")[0])
    return {
        f"{letter}{number}" for letter, first, last in named for number in range(int(first), int(last or first) + 1)
    }


def test_every_row_of_a_paper_has_a_command_or_says_why_not():
    papers = rows_by_paper()
    assert len(papers) == 5
    for rows in papers.values():
        assert len(rows) >= 3
        assert all(len(row) == 4 and row[0] and row[3] for row in rows)
        ends = re.compile(r"`(hubless|paper) |^as table \d|^not offered: |^`tests/")
        assert not [row for row in rows if not ends.search(row[3])]


@pytest.mark.parametrize(
    ("paper", "file", "tables", "appendix"),
    [
        ("DBSN", "dbsn", 6, 10),
        ("QB-Norm", "qb-norm", 21, 0),
        ("NNN", "nnn", 3, 15),
        ("Single-query Sinkhorn", "sigir", 3, 0),
    ],
)
def test_every_table_of_a_paper_that_we_read_has_a_row_and_settings(paper, file, tables, appendix):
    named = set().union(*(tables_of(row[0]) for row in rows_by_paper()[paper]))
    assert named == {str(n) for n in range(1, tables + 1)} | {f"A{n}" for n in range(1, appendix + 1)}
    tuned = {"A1", "A2"} if paper == "NNN" else set()
    assert named - tuned <= {table for one in presets_of(file) for table in one.tables}


def test_files_of_the_commands_are_explained():
    used = {
        word for command in COMMANDS for word in re.split(r"[ =]", command) if re.search(r"\.(npy|txt|json|pkl)$", word)
    }
    assert all(f"`{name}`" in PAGE for name in used)
