"""`nnn` and `csls` by a Faiss index over the bank, and what is said about what it finds."""

import json
from dataclasses import replace

import faiss
import numpy as np
import pytest
from support import naive
from support.problems import with_hubs

import hubless
from hubless import CORRECTIONS, Index
from hubless.corrections import registered
from hubless.corrections.folded.bank_index import AIM, BANK_INDEXES, LEAST_INDEXED, index_of
from hubless.errors import InputError
from hubless.measures.by_content import by_content
from hubless.vectors.sources import ArrayVectors

PROBLEM = with_hubs(targets=300, bank=3000, dim=16)
METHODS = [("nnn", {"k": 128}, 0.75), ("csls", {"k": 10}, 0.5)]


def fit(method, bank=PROBLEM.bank, targets=PROBLEM.targets, **parameters):
    return CORRECTIONS[method](**parameters).fit(bank, targets)


def found_by_faiss(factory, parameter, value, k):
    """The mean of the nearest bank queries, as Faiss' own index finds them."""
    index = faiss.index_factory(16, factory, faiss.METRIC_INNER_PRODUCT)
    index.train(PROBLEM.bank)
    index.add(PROBLEM.bank)
    faiss.ParameterSpace().set_index_parameter(index, parameter, value)
    return index.search(PROBLEM.targets, k)[0].mean(axis=1)


@pytest.mark.parametrize("kind", BANK_INDEXES)
@pytest.mark.parametrize(("method", "parameters", "weight"), METHODS)
def test_index_finds_the_share_of_the_nearest_that_the_details_say(method, parameters, weight, kind):
    found = fit(method, **parameters, bank_index=kind)
    details = found.details
    assert details["bank_index"] == kind
    assert details["bank_recall"] >= AIM
    exact = weight * naive.top_k_mean(PROBLEM.bank, PROBLEM.targets, parameters["k"])
    error = exact - found.offsets(PROBLEM.targets)
    assert np.abs(error).max() < 0.3 * exact.std()
    # what is missed makes a mean too small
    assert error.mean() >= -1e-6


@pytest.mark.parametrize(
    ("kind", "factory"), [("ivf", "IVF76,Flat"), ("hnsw", "HNSW32,Flat"), ("fastscan", "PQ4x4fs,RFlat")]
)
def test_offsets_are_those_of_faiss_own_index_with_the_search_parameter_of_the_details(kind, factory):
    found = fit("nnn", k=16, weight=1.0, bank_index=kind)
    parameter = BANK_INDEXES[kind].parameter
    expected = found_by_faiss(factory, parameter, found.details[parameter], 16)
    np.testing.assert_allclose(found.offsets(PROBLEM.targets), expected, rtol=0, atol=2e-3 if kind == "hnsw" else 1e-6)


def test_few_lists_are_searched_where_few_hold_the_nearest():
    assert fit("csls", bank_index="ivf").details["nprobe"] < 76


def test_lists_that_hold_too_few_give_the_mean_of_what_they_hold():
    bank, targets = ArrayVectors(PROBLEM.bank, "bank"), ArrayVectors(PROBLEM.targets, "targets")
    made = replace(index_of(bank, targets, "ivf", 16), searched=1)
    found = made.top_k(PROBLEM.targets, 500)
    there = found > np.finfo(np.float32).min
    assert not there.all()
    np.testing.assert_allclose(made.top_k_mean(targets, 500), found.mean(axis=1, where=there), rtol=1e-5)


@pytest.mark.parametrize("kind", BANK_INDEXES)
def test_offsets_are_the_same_each_time_one_by_one_and_from_the_stored_state(kind):
    found = fit("nnn", k=16, bank_index=kind)
    offsets = found.offsets(PROBLEM.targets)
    np.testing.assert_array_equal(fit("nnn", k=16, bank_index=kind).offsets(PROBLEM.targets), offsets)
    restored = registered("nnn").fitted.from_state(found.state(), json.loads(json.dumps(found.details)))
    assert restored.details == found.details
    np.testing.assert_array_equal(restored.offsets(PROBLEM.targets), offsets)
    alone = [found.offsets(PROBLEM.targets[row : row + 1])[0] for row in range(5)]
    np.testing.assert_allclose(alone, offsets[:5], atol=1e-6)


@pytest.mark.parametrize("kind", BANK_INDEXES)
def test_bank_too_small_for_an_index_is_compared_with_exactly_and_a_note_says_so(kind):
    found = fit("nnn", PROBLEM.bank[: LEAST_INDEXED - 1], k=16, bank_index=kind)
    assert (
        f"bank_index is flat, as {kind} needs {LEAST_INDEXED} bank queries, and there are {LEAST_INDEXED - 1}"
        in found.details["note"]
    )
    exact = fit("nnn", PROBLEM.bank[: LEAST_INDEXED - 1], k=16)
    np.testing.assert_array_equal(found.offsets(PROBLEM.targets), exact.offsets(PROBLEM.targets))
    assert "bank_recall" not in found.details


@pytest.mark.parametrize("dim", [1, 15])
def test_dimensions_that_the_codes_do_not_divide_are_padded(dim):
    bank, targets = (np.ascontiguousarray(rows[:, :dim]) for rows in (PROBLEM.bank, PROBLEM.targets))
    found = fit("csls", bank, targets, bank_index="fastscan")
    exact = fit("csls", bank, targets).offsets(targets)
    assert np.abs(exact - found.offsets(targets)).max() < 0.2 * exact.std()


@pytest.mark.parametrize("method", ["nnn", "csls"])
def test_unknown_bank_index_is_refused_naming_the_known_ones(method):
    with pytest.raises(InputError, match="bank_index: expected one of flat, ivf, hnsw, fastscan, got lsh"):
        CORRECTIONS[method](bank_index="lsh")


def test_index_goes_into_a_bundle_and_corrects_what_is_added_later(tmp_path):
    targets, later = PROBLEM.targets[:200], PROBLEM.targets[200:]
    parameters = {"k": 16, "bank_index": "ivf"}
    index = Index("nnn", "dot", parameters=parameters, index="flat").fit(PROBLEM.bank, targets)
    manifest = index.save(tmp_path, "photos")
    fitted = fit("nnn", by_content(ArrayVectors(PROBLEM.bank, "bank")), targets, **parameters)
    assert manifest.correction.details["bank_recall"] == pytest.approx(fitted.details["bank_recall"])
    opened = hubless.open(tmp_path, "photos")
    opened.add(later, range(200, 300))
    found = opened.query(PROBLEM.queries, 300, strength=1)
    rows = np.array(found.ids)
    raw = np.take_along_axis(naive.similarities(PROBLEM.queries, PROBLEM.targets), rows, axis=1)
    offsets = fitted.offsets(PROBLEM.targets)
    scores = raw - (offsets - offsets[:200].mean())[rows]
    np.testing.assert_allclose(found.scores, scores, atol=1e-5)


@pytest.mark.parametrize("damage", ["cut", "of another bank"])
def test_stored_index_that_is_damaged_is_refused_before_it_corrects(damage):
    found, other = (fit("nnn", bank, k=16, bank_index="ivf") for bank in (PROBLEM.bank, PROBLEM.bank[:2000]))
    packed = found.state()["index"][:200] if damage == "cut" else other.state()["index"]
    expected = "an index over 2000 bank queries, of 3000" if damage == "of another bank" else "read error"
    with pytest.raises((RuntimeError, ValueError), match=expected):
        registered("nnn").fitted.from_state(found.state() | {"index": packed}, found.details)
