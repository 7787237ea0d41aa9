import numpy as np
import pytest
from support.labelled import compare, pairs

import hubless
from hubless.lab.experiments.compare import compare_strictly
from hubless.lab.experiments.evaluate import evaluate
from hubless.lab.experiments.methods import Method

GIVEN, OTHER = pairs(120), pairs(150, seed=1)
COUNTS = np.random.default_rng(2).lognormal(1, 1.5, 120)
ENTRIES = [Method("none"), Method("csls"), Method("auto")]


def compared(**options):
    return compare(GIVEN.queries, GIVEN.targets, GIVEN.relevant, ENTRIES, query_bank=OTHER.queries, **options)


class TestComparisons:
    def test_only_corrections_that_take_one_are_fitted_with_it(self):
        without, beside = compared(), compared(target_prior=COUNTS)
        changed = [a.label for a, b in zip(without.rows, beside.rows, strict=True) if a.quality != b.quality]
        assert changed == ["auto"]
        assert "sn, dbsn, auto are fitted with the target prior; other corrections take none" in beside.notes


class TestCollections:
    def test_strict_measures_with_the_prior_of_the_payload_column(self, tmp_path):
        given = (tmp_path, "c", GIVEN.targets, OTHER.queries)
        hubless.build(*given, payload={"clicks": COUNTS}, target_prior="clicks")
        found = compare_strictly(hubless.open(tmp_path, "c"), GIVEN.queries, GIVEN.relevant, seeds=2)
        entries = [Method("none"), Method("auto")]
        expected = compare(GIVEN.queries, GIVEN.targets, GIVEN.relevant, entries, seeds=2, target_prior=COUNTS)
        assert found.row("auto").quality == expected.row("auto").quality

    def test_strict_says_that_a_prior_from_a_file_is_missing(self, tmp_path):
        hubless.build(tmp_path, "c", GIVEN.targets, OTHER.queries, target_prior=COUNTS)
        found = compare_strictly(hubless.open(tmp_path, "c"), GIVEN.queries, GIVEN.relevant, seeds=2)
        assert "which it does not keep: the correction is measured without it" in found.notes[-1]

    @pytest.mark.parametrize(("strength", "measured"), [(None, 0.25), (1.0, 1.0)])
    def test_evaluate_is_at_the_strength_that_is_served(self, tmp_path, strength, measured):
        hubless.build(tmp_path, "c", GIVEN.targets, OTHER.queries, strength=0.25)
        collection = hubless.open(tmp_path, "c")
        found = evaluate(collection, GIVEN.queries, GIVEN.relevant, strength=strength)
        same = evaluate(collection, GIVEN.queries, GIVEN.relevant, strength=measured)
        assert found.corrected == same.corrected
        assert found.notes[-1].endswith(f", strength {measured:g}")
