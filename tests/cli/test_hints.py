import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest
from support.hubs import pairs
from support.processes import started

COUNT = 300


@pytest.fixture
def folder(tmp_path, monkeypatch):
    queries, targets, _ = pairs(2 * COUNT, apart=1.5)
    named = {"targets": targets[:COUNT], "bank": queries[COUNT:], "queries": queries[:COUNT]}
    for name, rows in {**named, "right": np.arange(COUNT)}.items():
        np.save(tmp_path / f"{name}.npy", rows)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def hinted(text):
    return [found.strip("`. ") for found in re.findall(r"hubless (?:[a-z]+ )?-.*|`hubless [^`]+`", text)]


def test_build_names_commands_that_serve_and_show_what_it_made(run, folder):
    built = run("build", "--catalog", "my catalog", "--collection", "x", *shlex.split(BANK))
    assert built.code == 0
    serve, show = hinted(built.out)
    shown = run(*shlex.split(show)[1:])
    assert (shown.code, "fitted" in shown.out) == (0, True)
    command = [sys.executable, "-m", *shlex.split(serve), "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with started(command, env=os.environ | {"HUBLESS_PORT": "0"}, **pipes) as server:
        said = json.loads(server.stdout.readline())
        assert Path(said["catalog"]).samefile("my catalog")
        assert httpx.get(f"{said['url']}/livez", timeout=60).status_code == 200


BANK = "--targets targets.npy --query-bank bank.npy"


def test_diagnose_names_options_that_measure_the_gain(run, folder):
    said = run("diagnose", *shlex.split(BANK)).out
    assert hinted(said) == []
    assert "(`--set queries=FILE` and `relevant=FILE`)" in said
    labelled = run("diagnose", *shlex.split(BANK), "--set", "queries=queries.npy", "--set", "relevant=right.npy")
    assert labelled.code == 0
    assert "Measured with your labels" in labelled.out
