"""Offsets that somebody brings, at the command: built, shown, and compared with others."""

import numpy as np
import pytest
from support.problems import with_hubs

PROBLEM = with_hubs(targets=120, queries=60)
OWN = np.random.default_rng(3).normal(size=120).round(3)


def test_command_builds_inspects_and_compares(run, tmp_path):
    right = (PROBLEM.queries @ PROBLEM.targets.T).argmax(axis=1)
    for name, rows in (*vars(PROBLEM).items(), ("right", right), ("own", OWN)):
        np.save(tmp_path / f"{name}.npy", rows)
    where = ["--catalog", tmp_path / "c", "--collection", "things"]
    own, targets = f"offsets:{tmp_path / 'own.npy'}", ["--targets", tmp_path / "targets.npy"]
    built = run("build", *where, *targets, "--metric", "dot", "--correction", own)
    assert (built.code, built.err) == (0, "")
    assert "Nothing is corrected" not in built.out
    assert f"{OWN.min():g} to {OWN.max():g}, median" in run("inspect", *where).out
    asked = ["--queries", tmp_path / "queries.npy", "--relevant", tmp_path / "right.npy"]
    given = [*targets, "--set", "metric=dot", *asked, "--query-bank", tmp_path / "bank.npy"]
    compared = run("evaluate", *given, "--correction", "none", "--correction", own, "--json")
    assert compared.code == 0, compared.err
    rows = {row["label"].partition(":")[0]: row["quality"]["recall_at_1"] for row in compared.json["rows"]}
    first = (PROBLEM.queries @ PROBLEM.targets.T - OWN).argmax(axis=1)
    assert rows == {"none": 1.0, "offsets": pytest.approx((first == right).mean())}
