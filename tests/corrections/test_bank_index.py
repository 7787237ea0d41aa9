"""`nnn` and `csls` by cells that have a part of the bank, and what is said about their error."""

import json
import re

import numpy as np
import pytest
from support import naive
from support.problems import with_hubs

import hubless
from hubless import CORRECTIONS, Index
from hubless.corrections import registered
from hubless.corrections.folded import bank_index, neighbours
from hubless.corrections.folded.bank_index import index_of
from hubless.errors import InputError
from hubless.measures.by_content import by_content
from hubless.vectors.sources import ArrayVectors

PROBLEM = with_hubs(targets=300, bank=3000, dim=16)
SIDES = ArrayVectors(PROBLEM.bank, "bank"), ArrayVectors(PROBLEM.targets, "targets")


def fit(method, bank=PROBLEM.bank, targets=PROBLEM.targets, **parameters):
    return CORRECTIONS[method](**parameters).fit(bank, targets)


def error_of(offsets, exact):
    """Return error and bias of offsets, in units of their spread."""
    return (offsets - exact).std() / exact.std(), abs((offsets - exact).mean()) / exact.std()


@pytest.fixture
def few(monkeypatch):
    """Cells of few bank queries, so that the bank is large for them."""
    monkeypatch.setattr(bank_index, "NEAREST", 40)
    monkeypatch.setattr(neighbours, "LEAST_AUTO", 300)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("kind", ["cells", "auto", "ivf", "hnsw", "fastscan"])
@pytest.mark.parametrize(("method", "parameters", "weight"), [("nnn", {"k": 128}, 0.75), ("csls", {"k": 10}, 0.5)])
def test_cells_have_as_few_bank_queries_as_the_aim_allows(method, parameters, weight, kind):
    found = fit(method, **parameters, bank_index=kind)
    details = found.details
    assert details["bank_index"] == "cells"
    assert details["offset_error"] <= bank_index.AIM
    exact = weight * naive.top_k_mean(PROBLEM.bank, PROBLEM.targets, parameters["k"])
    error, _ = error_of(found.offsets(PROBLEM.targets), exact)
    assert 0 < error < 0.15


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("kind", "targets", "aim", "note"),
    [
        ("cells", 300, 0, r"bank_index is flat, as cells err by 1\.\d steps between ranks, not 0"),
        ("auto", 300, 0, r"bank_index is flat, as cells err by 1\.\d steps between ranks, not 0"),
        ("auto", 299, 2, ""),
    ],
)
def test_all_of_the_bank_is_compared_with_where_cells_err_or_auto_has_few_targets(
    monkeypatch, kind, targets, aim, note
):
    for module in (bank_index, neighbours):
        monkeypatch.setattr(module, "AIM", aim)
    rows = PROBLEM.targets[:targets]
    found = fit("nnn", targets=rows, k=16, bank_index=kind)
    assert re.fullmatch(note, found.details.get("note", ""))
    np.testing.assert_array_equal(found.offsets(rows), fit("nnn", targets=rows, k=16).offsets(rows))


@pytest.mark.parametrize(("nearest", "most", "allowed"), [(40, 200, 0.15), (3000, 3000, 1e-6)])
@pytest.mark.parametrize("k", [16, 1000])
def test_few_of_the_bank_queries_that_are_far_from_a_cell_stand_for_all_of_them(nearest, most, allowed, k, monkeypatch):
    monkeypatch.setattr(bank_index, "NEAREST", nearest)
    made = index_of(*SIDES, k, 0.0)
    assert made.rows.shape[1] <= most
    error, bias = error_of(made.top_k_mean(SIDES[1], k), naive.top_k_mean(PROBLEM.bank, PROBLEM.targets, k))
    assert error < allowed
    assert bias < allowed / 1.5


@pytest.mark.usefixtures("few")
def test_offsets_are_the_same_each_time_one_by_one_and_from_the_stored_state():
    found = fit("nnn", k=16, bank_index="cells")
    offsets = found.offsets(PROBLEM.targets)
    np.testing.assert_array_equal(fit("nnn", k=16, bank_index="cells").offsets(PROBLEM.targets), offsets)
    restored = registered("nnn").fitted.from_state(found.state(), json.loads(json.dumps(found.details)))
    assert restored.details == found.details
    np.testing.assert_array_equal(restored.offsets(PROBLEM.targets), offsets)
    alone = [found.offsets(PROBLEM.targets[row : row + 1])[0] for row in range(5)]
    np.testing.assert_allclose(alone, offsets[:5], atol=1e-6)


def test_bank_with_an_index_of_faiss_is_compared_with_exactly():
    exact = fit("nnn", k=16)
    former = {"bank_index": "hnsw", "bank_recall": 0.96, "metric": "cosine", "efSearch": 64}
    found = registered("nnn").fitted.from_state(
        exact.state() | {"index": np.zeros(9, np.uint8)}, exact.details | former
    )
    np.testing.assert_array_equal(found.offsets(PROBLEM.targets), exact.offsets(PROBLEM.targets))


@pytest.mark.parametrize("method", ["nnn", "csls"])
def test_unknown_bank_index_is_refused_naming_the_known_ones(method):
    with pytest.raises(InputError, match="bank_index: expected one of flat, cells, auto, ivf, hnsw, fastscan, got lsh"):
        CORRECTIONS[method](bank_index="lsh")


def test_index_goes_into_a_bundle_and_corrects_what_is_added_later(tmp_path):
    targets, later = PROBLEM.targets[:200], PROBLEM.targets[200:]
    parameters = {"k": 16, "bank_index": "cells"}
    index = Index("nnn", "dot", parameters=parameters, index="flat").fit(PROBLEM.bank, targets)
    manifest = index.save(tmp_path, "photos")
    fitted = fit("nnn", by_content(ArrayVectors(PROBLEM.bank, "bank")), targets, **parameters)
    assert manifest.correction.details["offset_error"] == pytest.approx(fitted.details["offset_error"])
    opened = hubless.open(tmp_path, "photos")
    opened.add(later, range(200, 300))
    found = opened.query(PROBLEM.queries, 300, strength=1)
    rows = np.array(found.ids)
    raw = np.take_along_axis(naive.similarities(PROBLEM.queries, PROBLEM.targets), rows, axis=1)
    offsets = fitted.offsets(PROBLEM.targets)
    scores = raw - (offsets - offsets[:200].mean())[rows]
    np.testing.assert_allclose(found.scores, scores, atol=1e-5)
