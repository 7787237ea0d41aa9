"""The first hour of a stranger, with two files and no idea of hubness: what commands say on two kinds of data."""

from importlib import metadata

import httpx
import numpy as np
import pytest
from support.hubs import pairs, unit
from support.serving import serving_catalog

import hubless

COUNT = 400


def data(kind, folder):
    """Paths of targets, a query bank, and test queries with their right targets."""
    rng = np.random.default_rng(0)
    queries, items, _ = pairs(2 * COUNT, apart=1.5)
    asked = queries[:COUNT]
    lean = asked.mean(axis=0) * rng.exponential(0.6, size=(COUNT, 1))
    targets = unit(items[:COUNT] + lean)
    bank = targets if kind == "targets" else queries[COUNT:]
    named = {"targets": targets, "bank": bank, "queries": asked, "right": np.arange(COUNT)}
    for name, rows in named.items():
        np.save(folder / f"{name}.npy", rows)
    return {name: folder / f"{name}.npy" for name in named}


def given_and_labels(files):
    given = ["--targets", files["targets"], "--query-bank", files["bank"]]
    return given, ["--queries", files["queries"], "--relevant", files["right"]]


def test_targets_in_place_of_queries_are_refused_with_advice_that_builds(run, tmp_path):
    given, labels = given_and_labels(data("targets", tmp_path))
    where = ["--catalog", tmp_path / "catalog", "--collection", "things"]
    for command in (["diagnose", *given], ["build", *where, *given], ["evaluate", *given, *labels]):
        ended = run(*command)
        assert ended.code == 1
        assert "100 % targets" in ended.err
        assert "Or start with correction none" in ended.err
    given += ["--set", "bank_of_targets=true"]
    built = run("build", *where, *given, "--correction", "none")
    assert (built.code, "are targets" in built.err) == (0, True)


@pytest.mark.parametrize("kind", ["hubs", pytest.param("targets", marks=pytest.mark.slow)])
def test_first_hour_ends_in_a_right_answer_or_in_advice(run, tmp_path, kind):
    files = data(kind, tmp_path)
    where = ["--catalog", tmp_path / "catalog", "--collection", "things"]
    given, labels = given_and_labels(files)
    if kind == "targets":
        given += ["--set", "bank_of_targets=true"]

    same = ["--set", f"queries={files['queries']}", "--set", f"relevant={files['right']}"]
    diagnosed = run("diagnose", *given, *same)
    assert (diagnosed.code, run("diagnose", *given, "--set", "gates.max_skewness=-9").code) == (0, 4)
    first = diagnosed.out.splitlines()[0]
    assert "Measured with your 400 labels" in first
    if kind == "hubs":
        assert "a real gain" in first
        assert "There are no hubs to speak of" not in diagnosed.out
    assert "--correction none" not in diagnosed.out

    built = run("build", *where, *given, *(["--correction", "none"] if kind == "targets" else []))
    assert built.code == 0
    assert "by chance" in built.out
    assert ("are targets" in built.err) == (kind == "targets")

    evaluated = run("evaluate", *where, *labels, "--json")
    assert evaluated.code == 0
    change = evaluated.json["rows"][-1]["change"]
    if kind == "hubs":
        assert change["interval"]["low"] > 0.02
    else:  # no loss beyond noise
        assert change["interval"]["high"] >= 0
    assert (len(evaluated.json["notes"]) > 1) == (kind == "targets")

    hits = run("query", *where, "--vectors", files["queries"], "--limit", "3", "--json")
    assert hits.code == 0
    with serving_catalog(tmp_path / "catalog") as url:
        query = np.load(files["queries"])[0].tolist()
        answer = httpx.post(f"{url}/v1/collections/things/query", json={"vector": query, "limit": 3}).json()
        assert httpx.get(f"{url}/v1/collections/things").json()["measured"]["hubness_chance"]
    assert len(answer["hits"]) == 3

    page = tmp_path / "report.html"
    assert run("report", *given, *same, "--output", page, "--set", "seeds=1").code == 0
    written = page.read_text("utf-8")
    assert "of 1,000 searches the right item comes first with auto; before it was" in written
    assert "Next: " in written
    if kind != "targets":
        assert ("Next: build with auto." in written) == (kind == "hubs")
    assert f"by hubless {metadata.version('hubless')}" in written
    assert run("report", *given, "--output", page).code == 0
    assert "The most shown item comes up in" in page.read_text("utf-8")


def test_without_a_query_log_the_advice_is_printed_and_leads_to_a_served_collection(run, tmp_path):
    files = data("hubs", tmp_path)
    where = ["--catalog", tmp_path / "catalog", "--collection", "things"]
    refused = run("build", *where, "--targets", files["targets"])
    assert refused.code != 0
    assert "query bank" in refused.err.replace("-", " ")
    assert "No queries yet? Encode captions or titles" in refused.err
    assert "--correction none" in refused.err
    alone = run("diagnose", "--targets", files["targets"])
    assert (alone.code, alone.err) == (0, "")
    assert "nothing here tells what a correction gains: give example queries" in alone.out
    page = tmp_path / "report.html"
    assert run("report", "--targets", files["targets"], "--output", page).code == 0
    assert "This does not tell what people see. Next: make the report again" in page.read_text("utf-8")

    built = run("build", *where, "--targets", files["targets"], "--correction", "none")
    assert (built.code, built.err) == (0, "")
    assert "HUBLESS_QUERY_SAMPLE" in built.out
    assert max(map(len, built.out.partition("Serve it:")[0].splitlines())) <= 80
    shown = run("inspect", *where, "--json").json
    assert (shown["measured"], shown["bank"], shown["count"]) == (None, None, COUNT)
    assert set(shown["provenance"]["inputs"]) == {"targets"}
    collection = hubless.open(tmp_path / "catalog", "things")
    query = np.load(files["queries"])[:20]
    assert collection.query(query, limit=5).rows.tolist() == exact(files["targets"], query, 5)
    assert run("diagnose", *where, "--query-bank", files["bank"]).code == 0
    with serving_catalog(tmp_path / "catalog") as url:
        at = f"{url}/v1/collections/things"
        assert len(httpx.post(f"{at}/query", json={"vector": query[0].tolist(), "limit": 3}).json()["hits"]) == 3
        assert httpx.get(f"{at}/occurrence").status_code == 200
    given = ["--targets", files["targets"], "--query-bank", files["bank"]]
    assert run("build", *where, *given).code == 0
    assert hubless.open(tmp_path / "catalog", "things").manifest.measured is not None


def exact(targets, queries, limit):
    targets = np.load(targets)
    cosines = queries @ (targets / np.linalg.norm(targets, axis=1, keepdims=True)).T
    return np.argsort(-cosines, axis=1)[:, :limit].tolist()
