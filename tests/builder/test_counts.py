"""A bank of distinct queries says in a column how often each was asked: it is the log with as many rows."""

import numpy as np
import pyarrow as pa
import pytest
from support.problems import with_hubs

import hubless
from hubless.builder.inputs.items import open_given
from hubless.corrections.banks.counts import counts_of

PROBLEM = with_hubs(targets=300, bank=200, dim=16, seed=3)
SIMILAR = PROBLEM.bank @ PROBLEM.targets.T
PLAIN = hubless.offsets(PROBLEM.targets, PROBLEM.bank, metric="dot")
CORRECTED = SIMILAR - PLAIN
LOSES = (CORRECTED.max(1) - CORRECTED[np.arange(200), SIMILAR.argmax(1)]).argmax()
"""The query whose first answer falls furthest. It is a third of the log."""
COUNTS = np.where(np.arange(200) == LOSES, 90, 1)
LOG = np.repeat(PROBLEM.bank, COUNTS, axis=0)


def table(counts):
    return pa.table({"vector": list(PROBLEM.bank), "count": counts})


def test_builds_and_refits_know_counts(tmp_path):
    made = hubless.build(tmp_path, "log", PROBLEM.targets, query_bank=table(COUNTS), metric="dot", index="flat")
    assert (made.bank.queries, made.bank.distinct) == (COUNTS.sum(), 200)
    assert made.correction.details["heads"] == 1
    assert hubless.refit(tmp_path, "log").bank.queries == COUNTS.sum()
    added = hubless.refit(tmp_path, "log", query_bank=table(COUNTS), append=True)
    assert (added.bank.queries, added.bank.distinct) == (2 * COUNTS.sum(), 200)
    assert added.correction.details["heads"] == 1


def test_diagnosis_by_counts_is_that_of_the_log():
    found, expected = (hubless.diagnose(PROBLEM.targets, bank, metric="dot") for bank in (table(COUNTS), LOG))
    assert found.as_json() == expected.as_json()


@pytest.mark.parametrize("kind", [pa.float64(), pa.decimal128(21, 2), pa.uint16()])
def test_whole_numbers_of_any_type_are_counts(kind):
    found = counts_of(open_given(table(pa.array(COUNTS).cast(kind)), "query bank", "dot"))
    np.testing.assert_array_equal(found, COUNTS)
