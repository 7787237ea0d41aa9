import numpy as np
import pytest
from support.hubs import pairs

import hubless
from hubless.corrections.banks.bank_checks import check_bank
from hubless.diagnosing.symptoms import find_symptoms
from hubless.kernels.reductions import top_k
from hubless.vectors.comparing import OF_TARGETS
from hubless.vectors.sources import as_source, in_memory, under_metric

QUERIES, TARGETS, _ = pairs(1000, apart=1.5)
BANK, LIVE, TARGETS = QUERIES[:500], QUERIES[500:], TARGETS[500:]
RNG = np.random.default_rng(0)
DIM = BANK.shape[1]


def names(bank=BANK, targets=TARGETS, metric="cosine", live=None):
    bank, targets = (under_metric(as_source(rows, "rows"), metric, OF_TARGETS) for rows in (bank, targets))
    record = check_bank(bank, targets, metric, bank_of_targets=True).record
    _, found = top_k(in_memory(bank), targets, 10)
    occurrence = hubless.measures.k_occurrence(found, targets.shape[0])
    symptoms = find_symptoms(bank, targets, metric, record, occurrence, live)
    assert len({*symptoms}) == len(symptoms)
    return {symptom.name for symptom in symptoms}


def test_hubs_alone_are_no_symptom_of_broken_vectors():
    assert names(live=LIVE) == names(targets=longer(TARGETS)) == set()


def one_vector(rows):
    """An encoder that returns the same for most texts."""
    broken = rows.copy()
    broken[: 6 * len(rows) // 10] = rows[0]
    return broken


def outweighed(rows):
    """A prompt that outweighs the texts."""
    return rows + 20 * np.abs(rows).max() * np.ones(DIM, np.float32)


def turned(rows):
    """Another model of as many dimensions."""
    return rows @ np.linalg.qr(RNG.normal(size=(DIM, DIM)))[0].astype(np.float32)


def longer(rows):
    """Lengths that mean nothing."""
    return rows * RNG.lognormal(0, 1.5, size=(len(rows), 1)).astype(np.float32)


def popular(rows):
    """Lengths that say what is near to what people ask."""
    return rows * np.exp(8 * rows @ BANK.mean(axis=0))[:, np.newaxis]


@pytest.mark.parametrize(
    ("given", "symptom"),
    [
        ({"bank": one_vector(BANK)}, "identical-query-vectors"),
        ({"bank": outweighed(BANK)}, "identical-query-vectors"),
        ({"targets": one_vector(TARGETS)}, "identical-target-vectors"),
        ({"targets": outweighed(TARGETS)}, "identical-target-vectors"),
        ({"bank": turned(BANK)}, "wrong-model"),
        ({"bank": TARGETS + RNG.normal(size=TARGETS.shape).astype(np.float32) / 100}, "missing-prefix"),
        ({"live": LIVE + 3 * np.float32(BANK.std()) * np.ones(DIM, np.float32)}, "missing-prefix"),
        ({"targets": longer(TARGETS), "metric": "dot"}, "wrong-metric"),
        ({"targets": popular(TARGETS)}, "wrong-metric"),
    ],
)
def test_broken_vectors_are_named(given, symptom):
    assert symptom in names(**given)


@pytest.mark.parametrize(("quantile", "symptoms"), [(0.75, set()), (0.95, {"wrong-metric"})])
def test_lengths_are_a_symptom_where_nearly_all_are_shorter_than_those_found_most(quantile, symptoms):
    found = np.bincount(np.argsort(-BANK @ TARGETS.T)[:, :10].ravel(), minlength=len(TARGETS))
    lengths = np.sort(np.random.default_rng(1).lognormal(0, 0.4, len(TARGETS)))
    given = np.empty_like(TARGETS)
    order = np.argsort(found)
    given[order] = TARGETS[order] * np.roll(lengths, int((1 - quantile) * len(TARGETS)) - 15)[:, np.newaxis]
    assert names(targets=given) == symptoms


def test_log_that_asks_the_same_again_and_again_has_no_symptom():
    shares = np.arange(1, len(BANK) + 1) ** -1.3
    log = BANK[np.random.default_rng(1).choice(len(BANK), 2000, p=shares / shares.sum())]
    assert len(np.unique(log, axis=0)) < 0.2 * len(log)
    assert names(bank=log) == set()


def test_verdict_says_what_to_look_at_first():
    found = hubless.diagnose(TARGETS, outweighed(BANK), metric="cosine")
    assert found.verdict[0].startswith("All query vectors are nearly one (mean cosine 1.0")
    assert "docs/symptoms.md" in found.verdict[0]
    assert found.as_json()["symptoms"][0]["name"] == "identical-query-vectors"
