"""`hubless log`: what it says of a log, and what it writes."""

import json

import numpy as np
import pytest
from support.score_logs import hubby_log, write_log
from typer.testing import CliRunner

import hubless
from hubless.cli.application import app


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "answers.jsonl"
    asked = [*range(400), *range(20)]
    write_log(path, *(each[asked] for each in hubby_log(hits=15)))
    return path


def run(*words):
    return CliRunner().invoke(app, ["log", *map(str, words)], env={"COLUMNS": "200"})


def test_offsets_are_those_of_the_library(log, tmp_path):
    ended = run(log, "--output", tmp_path / "offsets.parquet")
    assert ended.exit_code == 0, ended.output
    assert "offsets of 300 items" in ended.output
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert hubless.ScoreCorrection.load(tmp_path / "offsets.parquet").offsets == (
        hubless.ScoreCorrection.fit(lines).offsets
    )


def test_diagnose_names_hubs_repeats_and_gains(log):
    ended = run(log, "--diagnose", "--json")
    found = json.loads(ended.output)
    assert found["lists"] == 420
    assert found["distinct"] == 400
    assert {hub["id"] for hub in found["most"]} <= set(range(6))
    assert all(hub["corrected"] < hub["raw"] / 2 for hub in found["most"])
    assert found["most"][0]["raw"] > 5 * found["chance"]["most"]
    assert found["labelled"] == 400
    assert found["gain"]["value"] > 0.08
    assert found["gain"]["interval"]["low"] > 0.03
    assert "5 % repeat another" in run(log, "--diagnose").output


def test_known_ids_tell_what_is_never_found(log, tmp_path):
    np.save(tmp_path / "ids.npy", np.arange(305))
    (tmp_path / "ids.txt").write_text("\n".join(map(str, range(305))))
    for name in ("ids.npy", "ids.txt"):
        found = json.loads(run(log, "--diagnose", "--ids", tmp_path / name, "--json").output)
        assert found["never"] == 5
        assert found["never_ids"] == [300, 301, 302, 303, 304]


def test_a_log_without_hubs_and_labels_is_told_so(tmp_path):
    ids, scores, _ = hubby_log(hubs=0, hits=15)
    write_log(tmp_path / "even.jsonl", ids, scores)
    said = run(tmp_path / "even.jsonl", "--diagnose").output
    assert "No hubs" in said
    assert "Nobody knows what it gains" in said


def test_labels_and_ids_of_another_type_than_the_log_are_refused(log, tmp_path):
    (tmp_path / "ids.txt").write_text("x")
    said = str(run(log, "--diagnose", "--ids", tmp_path / "ids.txt").exception)
    assert said.startswith("ids[0]: expected the id of a hit, a whole number such as ")
    (tmp_path / "other.jsonl").write_text(log.read_text().replace('"relevant": ', '"relevant": "7", "was": '))
    assert str(run(tmp_path / "other.jsonl", "--diagnose").exception).startswith("relevant[0]: expected the id")


def test_wrong_use_is_refused_before_the_work(log, tmp_path):
    assert run(log).exit_code == 2
    assert "a folder is in the place of a file" in str(run(log, "--output", tmp_path).exception)
    (tmp_path / "few.jsonl").write_text('{"ids": ["a", "b"], "scores": [2, 1]}\n')
    assert "at least 40 different lists" in str(run(tmp_path / "few.jsonl", "--diagnose").exception)
