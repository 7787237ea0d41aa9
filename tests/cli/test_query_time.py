"""Gated and rescored corrections on the command line."""

import numpy as np
import pytest
from support.problems import with_hubs

import hubless

PROBLEM = with_hubs(targets=60, bank=50)


@pytest.fixture
def built(run, tmp_path):
    """Build a collection of a correction on the command line; the words that name it, and a file of queries."""
    for name in ("targets", "bank", "queries"):
        np.save(tmp_path / f"{name}.npy", getattr(PROBLEM, name))

    def build(correction, *settings):
        where = ("--catalog", tmp_path / "catalog", "--collection", correction)
        given = (
            "--targets",
            tmp_path / "targets.npy",
            "--query-bank",
            tmp_path / "bank.npy",
            "--correction",
            correction,
        )
        assert run("build", *where, *given, *settings).code == 0
        return (*where, "--vectors", tmp_path / "queries.npy")

    return build


def test_candidates_are_taken_from_the_query(run, built, tmp_path):
    words = built("ls", "--set", "k=3")
    answers = run("query", *words, "--limit", 4, "--set", "candidates=4", "--json").json["results"]
    opened = hubless.open(tmp_path / "catalog", "ls")
    expected = opened.query(PROBLEM.queries, 4, parameters={"candidates": 4}).ids
    assert [[hit["id"] for hit in answer["hits"]] for answer in answers] == expected
    assert expected != opened.query(PROBLEM.queries, 4).ids
    assert all("corrected" not in answer for answer in answers)


def test_gated_answers_say_whether_they_were_corrected(run, built, tmp_path):
    words = built("dis")
    answers = run("query", *words, "--json").json["results"]
    expected = hubless.open(tmp_path / "catalog", "dis").query(PROBLEM.queries).corrected.tolist()
    assert [answer["corrected"] for answer in answers] == expected
    printed = run("query", *words).out
    for number, corrected in enumerate(expected):
        assert f"query {number}, {'' if corrected else 'not '}corrected" in printed


def test_search_parameter_without_a_value_is_wrong_usage(run, built):
    ended = run("query", *built("ls"), "--set", "candidates")
    assert ended.code == 2
    assert "expected NAME=VALUE, got candidates" in ended.err


def test_unknown_search_parameter_fails_naming_it(run, built):
    ended = run("query", *built("ls"), "--set", "beams=3")
    assert ended.code == 1
    assert "beams" in ended.err


def test_target_bank_that_is_missing_fails_in_one_line(run, tmp_path):
    for name in ("targets", "bank"):
        np.save(tmp_path / f"{name}.npy", getattr(PROBLEM, name))
    words = ("--catalog", tmp_path / "catalog", "--collection", "c", "--targets", tmp_path / "targets.npy")
    ended = run("build", *words, "--query-bank", tmp_path / "bank.npy", "--correction", "dual_dis")
    assert ended.code == 1
    assert ended.err == "error: target bank: expected vectors, as dual_dis needs them (dis does without), got none\n"
