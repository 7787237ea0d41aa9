import numpy as np
import pytest
from support.labelled import compare, pairs, saved

import hubless
from hubless.lab.experiments.compare import compare_strictly
from hubless.lab.experiments.evaluate import evaluate
from hubless.lab.experiments.methods import Method

GIVEN, OTHERS = pairs(), pairs(seed=1)
RIGHT = np.array([rows[0] for rows in GIVEN.relevant])


def built(folder, bank, **options):
    hubless.build(folder, "things", GIVEN.targets, bank, metric="cosine", **options)
    return hubless.open(folder, "things")


@pytest.mark.parametrize("correction", ["auto", "nnn", "dn"])
def test_test_queries_in_the_bank_of_a_version_are_noted_first(tmp_path, correction):
    bank = np.concatenate([GIVEN.queries[:120], OTHERS.queries])
    notes = evaluate(built(tmp_path, bank, correction=correction), GIVEN.queries, RIGHT).as_json()["notes"]
    share = float(notes[0].split(" %")[0])
    assert 40 < share <= 50  # a tenth of the bank is held out from the fit
    assert "test queries are in the query bank of this version: a leak" in notes[0]


def test_right_targets_in_the_bank_of_a_version_are_noted(tmp_path):
    bank = np.concatenate([GIVEN.targets[:10], OTHERS.queries])
    notes = evaluate(built(tmp_path, bank), GIVEN.queries, RIGHT).leaks
    assert len(notes) == 1
    assert "of the right targets are in the query bank" in notes[0]


def test_strict_measures_the_correction_of_a_collection_without_its_bank(tmp_path):
    collection = built(tmp_path, GIVEN.queries, correction="nnn", parameters={"k": 16})
    ours = compare_strictly(collection, GIVEN.queries, RIGHT, seeds=2)
    entries = [Method("none"), Method("nnn", {"k": 16})]
    theirs = compare(GIVEN.queries, GIVEN.targets, RIGHT, entries, seeds=2)
    assert [row.label for row in ours.rows] == ["none", "nnn k=16"]
    assert ours.rows[1].change.value == pytest.approx(theirs.rows[1].change.value, abs=0.01)


def test_command_says_it_in_the_first_line_and_strict_splits(run, tmp_path):
    built(tmp_path / "catalog", GIVEN.queries)
    files = saved(tmp_path, GIVEN)
    asked = ["evaluate", "--catalog", tmp_path / "catalog", "--collection", "things", "--queries", files["queries"]]
    asked += ["--relevant", files["relevant"]]
    assert run(*asked).out.startswith("Warning: 100 % of the test queries are in the query bank")
    assert "a leak" in run(*asked, "--json").json["notes"][0]
    assert run(*asked, "--strict", "--set", "seeds=2", "--json").json["protocol"] == "strict"
    assert run(*asked, "--strict", "--set", "attribute=x").code == 2
