import numpy as np
import pytest
from support.labelled import pairs
from support.problems import centred, with_hubs

import hubless
from hubless import CORRECTIONS
from hubless.errors import InputError, NotFinite
from hubless_lab.matrices import vectorless

GIVEN = pairs(120)
BANK = pairs(150, seed=1)
RELEVANT = [rows.tolist() for rows in GIVEN.relevant]
MATRICES = {
    "queries": GIVEN.queries @ GIVEN.targets.T,
    "bank": BANK.queries @ GIVEN.targets.T,
    "target_bank": BANK.queries @ BANK.targets.T,
}
SMALL = {"nnn": {"k": 8}, "dis": {"k": 2}, "sinkhorn": {"iterations": 3}}


def similarities(**changes):
    return hubless.SimilarityMatrices(**MATRICES | changes)


def by_vectors(corrections, **options):
    return hubless.compare(GIVEN.queries, GIVEN.targets, RELEVANT, metric="cosine", corrections=corrections, **options)


def qualities(comparison):
    return {row.label: row.quality for row in comparison.rows}


def assert_same(found, expected):
    assert qualities(found).keys() == qualities(expected).keys()
    for label, quality in qualities(expected).items():
        assert qualities(found)[label] == pytest.approx(quality, abs=1e-9), label


METHODS = {name: SMALL.get(name, {}) for name in ("none", "cent", "nnn", "is", "dbsn", "dis", "gc", "sinkhorn", "mp")}
"""One of each family."""


@pytest.mark.parametrize("name", [*METHODS, "sinkhorn_whole"])
def test_method_ranks_by_similarities_as_it_does_by_vectors(name):
    asked = {name: METHODS.get(name, {})}
    expected = by_vectors(asked, query_bank=BANK.queries, target_bank=BANK.targets)
    found = hubless.compare(similarities(), relevant=RELEVANT, corrections=asked)
    assert_same(found, expected)


def test_auto_by_similarities_is_auto_but_for_the_topic_and_says_so():
    found = hubless.compare(similarities(), relevant=RELEVANT, corrections=["auto"])
    expected = by_vectors(["auto"], query_bank=BANK.queries, target_bank=BANK.targets)
    assert expected.row("auto").details["topic_removed"] == 0
    assert_same(found, expected)
    assert "auto: without vectors it takes no topic of a narrow bank out of the offsets" in found.notes
    without = hubless.compare(similarities(target_bank=None), relevant=RELEVANT)
    assert without.row("auto").details["chosen"] == "sn"


def test_strict_protocol_splits_similarities_as_it_splits_vectors():
    asked = {"nnn": {"k": 8}, "dbsn": {}, "gc": {}}
    given = hubless.SimilarityMatrices(MATRICES["queries"])
    found = hubless.compare(given, relevant=RELEVANT, corrections=asked, seeds=2)
    assert_same(found, by_vectors(asked, seeds=2))
    assert found.seeds == [0, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"queries": MATRICES["queries"][:, 1:]}, "bank similarities: expected a column for each of the 119 targets"),
        ({"bank": MATRICES["bank"].T}, "got shape (120, 150): it looks transposed"),
        ({"target_bank": MATRICES["target_bank"][:149]}, "target bank similarities: expected a row for each of the"),
        ({"bank": None}, "target bank similarities: expected none without bank similarities"),
        (
            {"queries": MATRICES["queries"] > 0},
            "similarities: expected float16, float32 or float64, or whole numbers of 8 or 16 bits, got bool",
        ),
        ({"bank": np.arange(5.0)}, "bank similarities: expected a matrix"),
    ],
)
def test_matrix_that_does_not_fit_is_named(changes, message):
    with pytest.raises(InputError) as raised:
        hubless.compare(similarities(**changes), relevant=RELEVANT)
    assert message in str(raised.value)


def test_number_that_is_not_finite_is_named_with_its_place(tmp_path):
    wrong = MATRICES["bank"].copy()
    wrong[7, 5] = np.nan
    np.save(tmp_path / "bank.npy", wrong)
    with pytest.raises(NotFinite, match=r"bank similarities \(bank.npy\), row 7, column 5"):
        hubless.compare(similarities(bank=tmp_path / "bank.npy"), relevant=RELEVANT)


def test_transposed_similarities_are_known_by_the_labels():
    with pytest.raises(InputError, match=r"similarities: expected a row for each of the 100 .* it looks transposed"):
        hubless.compare(hubless.SimilarityMatrices(MATRICES["queries"][:100].T), relevant=RELEVANT[:100])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": GIVEN.targets}, "targets: expected none beside similarities"),
        ({"query_bank": BANK.queries}, "query bank: expected none beside similarities"),
        ({"metric": "cosine"}, "metric: expected none beside similarities"),
        ({"relevant": None}, "relevant: expected for each query the id of its right target, .*, got none"),
    ],
)
def test_vectors_or_a_metric_beside_similarities_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        hubless.compare(similarities(), **{"relevant": RELEVANT} | options)


def test_similarities_alone_are_taken_for_a_fair_bank():
    problem = with_hubs(targets=300, dim=128)
    similarities, rows = problem.bank @ problem.targets.T, np.eye(len(problem.targets), dtype=np.float32)
    fitted = vectorless(CORRECTIONS["auto"]()).fit(similarities, rows)
    whole = CORRECTIONS["sn"](temperature=fitted.temperature).fit(problem.bank, problem.targets)
    expected = fitted.shrinkage * centred(whole.offsets(problem.targets))
    np.testing.assert_allclose(centred(fitted.offsets(rows)), expected, atol=1e-5)
