import json

import numpy as np
import pytest
from support import small
from support.printed import words
from support.problems import with_hubs

import hubless
from hubless.cli.query import ANSWERS_SHOWN

PROBLEM = with_hubs(targets=60, bank=50)


@pytest.fixture
def built(run, tmp_path):
    for name in ("targets", "bank", "queries"):
        np.save(tmp_path / f"{name}.npy", getattr(PROBLEM, name))

    def build(correction, *settings):
        where = ("--catalog", tmp_path / "catalog", "--collection", correction)
        given = ("--targets", tmp_path / "targets.npy", "--query-bank", tmp_path / "bank.npy")
        assert run("build", *where, *given, "--correction", correction, *settings).code == 0
        return (*where, "--vectors", tmp_path / "queries.npy")

    return build


def test_gated_answers_say_whether_they_were_corrected(run, built, tmp_path):
    given = built("dis")
    answers = run("query", *given, "--json").json["results"]
    expected = hubless.open(tmp_path / "catalog", "dis").query(PROBLEM.queries).corrected.tolist()
    assert [answer["corrected"] for answer in answers] == expected
    printed = run("query", *given).out
    for number, corrected in enumerate(expected[:ANSWERS_SHOWN]):
        assert f"query {number}, {'' if corrected else 'not '}corrected" in printed


def test_terminal_shows_ten_queries_and_a_file_takes_all(run, built, tmp_path):
    given = (*built("sn"), "--limit", 2)
    printed = run("query", *given).out
    count = len(PROBLEM.queries)
    assert count > ANSWERS_SHOWN
    assert printed.count("query ") == ANSWERS_SHOWN
    assert f"These are 10 of {count} queries. `--set output=FILE` writes all" in printed
    for more in ([], ["--compare"]):
        assert run("query", *given, *more, "--set", f"output={tmp_path / 'all.json'}").code == 0
        told = run("query", *given, *more, "--json").json
        assert json.loads((tmp_path / "all.json").read_text("utf-8")) == told
        assert len(told["results"]) == count
    assert run("query", *given, "--set", f"output={tmp_path / 'no' / 'folder.json'}").code == 1


@pytest.fixture
def filtered(tmp_path):
    small.build(tmp_path / "catalog", payload=small.payload())
    np.save(tmp_path / "queries.npy", small.query_bank()[:3])
    return ("--catalog", tmp_path / "catalog", "--collection", "photos", "--vectors", tmp_path / "queries.npy")


def test_hits_meet_the_filter(run, filtered):
    wanted = {"field": "tags", "contains": 7}
    answers = run("query", *filtered, "--filter", json.dumps({"not": wanted}), "--limit", 39, "--json").json["results"]
    assert [sorted(hit["id"] for hit in answer["hits"]) for answer in answers] == [[*range(7), *range(8, 40)]] * 3


def test_what_is_not_json_is_wrong_usage(run, filtered):
    failed = run("query", *filtered, "--filter", "year > 3")
    assert failed.code == 2
    assert "--filter" in failed.err
    assert "expected JSON, got year > 3" in failed.err


@pytest.fixture
def compare(run, prepared):
    return lambda *more: run("query", *words("query", prepared), "--compare", *more)


def test_raw_and_corrected_stand_side_by_side(run, compare, prepared):
    ended = compare("--limit", "4")
    assert ended.code == 0
    lines = [line for line in ended.out.splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    alone = ("query", *words("query", prepared), "--limit", "4", "--json")
    asked, raw = (run(*alone, "--strength", strength).json["results"][0]["hits"] for strength in (1, 0))
    assert [line[0] for line in cells] == ["1", "2", "3", "4"]
    assert [line[1].split()[0] for line in cells] == [str(hit["id"]) for hit in raw]
    assert [line[3].split()[0] for line in cells] == [str(hit["id"]) for hit in asked]
    assert [line[4] for line in cells] == [f"{hit['offset']:+.3f}" for hit in asked]


@pytest.mark.parametrize("more", [["--set", "explain=true"], ["--strength", "0"]])
def test_what_compare_cannot_go_with_is_wrong_usage(compare, more):
    ended = compare(*more)
    assert ended.code == 2
    assert "--compare: cannot be combined with" in ended.err
