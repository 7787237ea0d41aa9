import numpy as np
import pytest
from support.problems import with_hubs

import hubless
from hubless import measures
from hubless.builder.banks.bank_split import split_bank
from hubless.corrections import CORRECTIONS, corrected_scores, correction
from hubless.measures.by_content import by_content
from hubless.vectors.arrays import unit_rows
from hubless.vectors.sources import ArrayVectors, in_memory

PROBLEM = with_hubs(targets=150, bank=120, target_bank=60, queries=40, dim=12, seed=5)
PARAMETERS = {"nnn": {"k": 16}, "dual_dis": {"query_temperature": 0.1}}
OF_TARGET_BANK = ("dbsn", "dual_is", "dual_dis")
SEED = 0  # no scores of the held-out half tie at the last place


TARGETS, QUERIES, BANK, TARGET_BANK = (
    unit_rows(rows.astype(np.float32), "rows")
    for rows in (PROBLEM.targets, PROBLEM.queries, PROBLEM.bank, PROBLEM.target_bank)
)
BANK = in_memory(by_content(ArrayVectors(BANK, "bank")))
"""In the order in which a build takes it."""


def built(folder, name):
    extra = PROBLEM.target_bank if name in OF_TARGET_BANK else None
    given = {"correction": name, "parameters": PARAMETERS.get(name, {}), "target_bank": extra, "seed": SEED}
    return hubless.build(folder, name, PROBLEM.targets, PROBLEM.bank, **given)


def fit(name, bank):
    extra = TARGET_BANK if name in OF_TARGET_BANK else None
    return correction(name, PARAMETERS.get(name, {})).fit(bank, TARGETS, extra)


def best(queries, fitted):
    given = fitted.offsets(TARGETS), fitted.query_time(TARGETS), TARGETS.__getitem__
    scores = corrected_scores(queries, queries @ TARGETS.T, 1.0, *given)
    return np.argsort(-scores, axis=1, kind="stable")[:, :10]


@pytest.mark.parametrize("name", CORRECTIONS)
class TestShipped:
    def test_offsets_and_top_10_are_those_of_a_fit_on_all_of_the_bank(self, tmp_path, name):
        manifest = built(tmp_path, name)
        opened = hubless.open(tmp_path, name)
        full = fit(name, BANK)
        offsets = full.offsets(TARGETS)
        exact = offsets.astype(np.float64)
        np.testing.assert_array_equal(opened.offsets, (exact - exact.mean()).astype(np.float32))
        expected = np.sort(best(QUERIES, full), axis=1)
        np.testing.assert_array_equal(np.sort(opened.query(QUERIES, 10).rows, axis=1), expected)
        assert manifest.bank.queries == 120

    def test_hubness_is_measured_with_queries_that_the_fit_has_not_seen(self, tmp_path, name):
        measured = built(tmp_path, name).measured
        assert (measured.queries, measured.held_out, measured.fitted_queries) == (60, True, 60)
        split = split_bank(ArrayVectors(BANK, "bank"), SEED)
        both = np.concatenate([split.queries, split.others.take(np.arange(60))])
        np.testing.assert_array_equal(np.unique(both, axis=0), np.unique(BANK, axis=0))
        occurrence = measures.k_occurrence(best(split.queries, fit(name, split.others)), len(TARGETS))
        assert measured.hubness_corrected.most == occurrence.max()
        assert measured.hubness_corrected.skewness == pytest.approx(measures.skewness(occurrence), abs=1e-9)


class TestIndex:
    def test_changed_and_saved_index_does_not_call_its_queries_held_out(self, tmp_path):
        index = hubless.Index("auto", "cosine").fit(PROBLEM.bank, PROBLEM.targets)
        index.remove([0])
        measured = index.save(tmp_path, "changed").measured
        assert (measured.held_out, measured.fitted_queries) == (False, None)

    def test_bank_of_fewer_than_ten_queries_serves_for_both(self):
        index = hubless.Index("csls", "cosine", parameters={"k": 3}).fit(PROBLEM.bank[:8], PROBLEM.targets)
        measured = index.manifest.measured
        assert (measured.queries, measured.held_out, measured.fitted_queries) == (8, False, 8)
