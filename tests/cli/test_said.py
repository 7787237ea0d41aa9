"""What commands say first: a diagnosis that fits on a screen, and commands that run as they are printed."""

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
from support.score_logs import hubby_log, write_log


@pytest.fixture
def given(tmp_path):
    """The options of targets, and of a bank of queries that lie apart from them."""
    queries, items, _ = pairs(800, apart=1.5)
    lean = queries.mean(axis=0) * np.random.default_rng(0).exponential(0.6, size=(400, 1))
    np.save(tmp_path / "targets.npy", items[:400] + lean)
    np.save(tmp_path / "bank.npy", queries[400:])
    return ["--targets", tmp_path / "targets.npy", "--query-bank", tmp_path / "bank.npy"]


def hinted(text):
    return [found.strip("`. ") for found in re.findall(r"hubless (?:[a-z]+ )?-.*|`hubless [^`]+`", text)]


@pytest.mark.parametrize(
    ("bank", "last", "table"),
    [(True, "the gain is measured", "The query bank"), (False, "what a correction gains", "Some that no other target")],
)
def test_diagnosis_fits_on_a_screen_and_all_shows_the_rest(run, given, monkeypatch, bank, last, table):
    monkeypatch.setenv("COLUMNS", "80")
    given = given if bank else given[:2]
    lines = run("diagnose", *given).out.splitlines()
    assert len(lines) <= 23  # a line is left for the prompt
    assert max(map(len, lines)) <= 80
    short, whole = (" ".join(said.split()) for said in ("\n".join(lines), run("diagnose", *given, "--all").out))
    for shown in ("skewness of N_10", "most found, N_10", "never found, N_10", "Largest hubs", last):
        assert shown in short
    for more in ("skewness of N_20", "Robin Hood", table):
        assert more in whole
        assert more == "The query bank" or more not in short


def test_build_names_commands_that_serve_and_show_what_it_made(run, given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run("diagnose", *given).out
    assert hinted(said) == []
    assert "(`--set queries=FILE` and `" in said
    built = run("build", "--catalog", "my catalog", "--collection", "x", *given)
    assert built.code == 0
    serve, show = hinted(built.out)
    shown = run(*shlex.split(show)[1:])
    assert (shown.code, "fitted" in shown.out) == (0, True)
    command = [sys.executable, "-m", *shlex.split(serve), "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with started(command, env=os.environ | {"HUBLESS_PORT": "0"}, **pipes) as server:
        said = json.loads(server.stdout.readline())
        assert (said["url"], said["pid"]) == (f"http://127.0.0.1:{said['port']}", server.pid)
        assert Path(said["catalog"]).samefile("my catalog")
        assert httpx.get(f"{said['url']}/livez", timeout=60).status_code == 200
        server.terminate()
        assert server.communicate()[0] == ""


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("diagnose --targets {0}/targets.npy --query-bank {0}/bank.npy", ""),
        ("build --targets {0}/targets.npy --query-bank {0}/bank.npy --catalog {0}/new --collection x", "temperature"),
        ("inspect --catalog {1} --collection photos", "temperature"),
        ("log {0}/answers.jsonl --diagnose --output {0}/offsets.parquet", "crowding"),
    ],
)
def test_what_a_fit_has_chosen_is_shown_to_those_who_ask(run, given, template, tmp_path, command, more):
    write_log(tmp_path / "answers.jsonl", *hubby_log())
    words = command.format(tmp_path, template).split()
    short, whole = run(*words), run("--verbose", *words)
    assert (short.code, re.findall("temperature|perplexity|crowding|overdispersion|shrinkage", short.out)) == (0, [])
    assert more in whole.out
