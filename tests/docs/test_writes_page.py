"""The page about writes: its job file is one, and its commands run."""

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from support import jobs

import hubless
from hubless.cli.application import main

PAGE = (Path(__file__).parents[2] / "docs" / "writes.md").read_text("utf-8")
(JOB,) = re.findall(r"(?ms)^```yaml\n(.*?)^```$", PAGE)
COMMANDS = re.findall(r"(?m)^(hubless (?:reindex|merge) .*)$", PAGE)


PROMISES = re.findall(r"(?m)^\| .* \| `(test_\w+)` \|$", PAGE)


def test_each_promise_names_a_test_that_there_is():
    tests = Path(__file__).parents[1]
    found = {
        name for path in tests.rglob("test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text("utf-8"))
    }
    assert len(PROMISES) >= 10
    assert set(PROMISES) <= found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the page takes as given."""
    jobs.write_targets(tmp_path / "items" / "a.parquet", jobs.names(0, 1200))
    for seed, name in enumerate(("captions.npy", "recent.npy")):
        np.save(tmp_path / name, np.random.default_rng(seed).normal(size=(300, jobs.DIM)).astype(np.float32))
    (tmp_path / "job.yaml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_job_and_commands_of_the_page_run_as_they_are_written(folder, monkeypatch):
    assert [line.split()[1] for line in COMMANDS] == ["merge", "reindex", "reindex"]
    for line in [*COMMANDS[1:], COMMANDS[0]]:
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
    opened = hubless.open(folder / "catalog", "photos")
    assert (opened.count, opened.manifest.bank.queries) == (1200, 429)
    assert hubless.reindex("job.yaml", progress=False).manifest is None
