"""Parameters of corrections that are not what they have to be."""

import json
from itertools import product

import numpy as np
import pytest
from support.problems import with_hubs

from hubless import CORRECTIONS
from hubless.corrections import correction
from hubless.errors import InputError

PROBLEM = with_hubs()
NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("method", "k"), [*product(["nnn", "csls"], [0, -1, 1.5, True, "3", NAN]), ("csls", None)]
)  # without k, nnn takes as many queries as the bank has, up to 128
def test_k_that_is_no_whole_number_above_zero_is_refused(method, k):
    with pytest.raises(InputError, match=r"^k: expected a whole number of at least 1, got ") as caught:
        CORRECTIONS[method](k=k)
    assert caught.value.received == repr(k)


@pytest.mark.parametrize("weight", [-0.1, NAN, INFINITY, "1", None, True])
def test_weight_that_is_no_finite_number_from_zero_is_refused(weight):
    with pytest.raises(InputError, match=r"^weight: expected a number of at least 0, got "):
        CORRECTIONS["nnn"](weight=weight)


@pytest.mark.parametrize("temperature", [0, -0.1, NAN, INFINITY, None, True, [0.1]])
@pytest.mark.parametrize("method", ["is", "sn", "dbsn"])
def test_temperature_that_is_no_finite_number_above_zero_is_refused(method, temperature):
    with pytest.raises(InputError, match=r"^temperature: expected a number above 0, got "):
        CORRECTIONS[method](temperature=temperature)


def test_temperature_in_words_other_than_auto_is_refused():
    with pytest.raises(InputError, match=r"^temperature: expected a number above 0, or \"auto\", got 'warm'"):
        CORRECTIONS["is"](temperature="warm")


@pytest.mark.parametrize("perplexity", [1, 0, -3, NAN, INFINITY, "20", True])
@pytest.mark.parametrize("method", ["is", "sn", "dbsn"])
def test_perplexity_that_is_no_finite_number_above_one_is_refused(method, perplexity):
    with pytest.raises(InputError, match=r"^perplexity: expected a number above 1, got "):
        CORRECTIONS[method](perplexity=perplexity)


@pytest.mark.parametrize("method", ["is", "sn", "dbsn"])
def test_perplexity_beside_a_temperature_is_refused(method):
    with pytest.raises(InputError, match=r"^perplexity: expected none, as the temperature is not .auto., got 20"):
        CORRECTIONS[method](temperature=0.1, perplexity=20)


@pytest.mark.parametrize("method", ["sn", "dbsn"])
@pytest.mark.parametrize(
    ("parameter", "value", "least"), [("iterations", 0, 1), ("iterations", 2.0, 1), ("fit_sample", 1, 2)]
)
def test_counts_of_sinkhorn_that_are_too_small_or_not_whole_are_refused(method, parameter, value, least):
    with pytest.raises(InputError, match=rf"^{parameter}: expected a whole number of at least {least}, got {value}"):
        CORRECTIONS[method](**{parameter: value})


def test_unknown_correction_is_refused_naming_the_known_ones():
    with pytest.raises(InputError, match=r"^correction: expected one of auto, none, nnn, .*dbsn.*, got hubness"):
        correction("hubness")


@pytest.mark.parametrize(
    ("method", "expected"),
    [("nnn", "one of k, weight"), ("auto", "no parameters"), ("none", "no parameters")],
)
def test_unknown_parameter_is_refused_naming_the_known_ones(method, expected):
    with pytest.raises(InputError, match=rf"^parameter of {method}: expected {expected}, got tau"):
        correction(method, {"tau": 1})


@pytest.mark.parametrize(("method", "k"), [("nnn", 151), ("csls", 200)])
def test_bank_smaller_than_k_is_refused_naming_both(method, k):
    with pytest.raises(InputError, match=rf"^query bank: expected at least {k} rows, as k is {k}, got 150"):
        correction(method, {"k": k}).fit(PROBLEM.bank, PROBLEM.targets)


@pytest.mark.parametrize("method", ["is", "sn", "dbsn", "auto"])
def test_softmax_over_a_single_bank_query_is_refused(method):
    with pytest.raises(InputError, match=r"^query bank: expected at least 2 rows, .*got 1"):
        correction(method).fit(PROBLEM.bank[:1], PROBLEM.targets, PROBLEM.target_bank)


def test_dbsn_without_a_target_bank_is_refused_naming_the_way_out():
    with pytest.raises(InputError, match=r"^target bank: expected vectors, .*\(sn does without\), got none"):
        correction("dbsn").fit(PROBLEM.bank, PROBLEM.targets)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("nnn", {"k": np.int64(5), "weight": np.float32(0.5)}),
        ("csls", {"k": np.uint8(5)}),
        ("sn", {"iterations": np.int32(3), "temperature": np.float64(0.1)}),
        ("is", {"perplexity": np.float32(30)}),
    ],
)
def test_numbers_of_numpy_are_taken_and_told_as_json(method, parameters):
    fitted = correction(method, parameters).fit(PROBLEM.bank, PROBLEM.targets)
    plain = correction(method, {name: value.item() for name, value in parameters.items()})
    assert json.loads(json.dumps(fitted.details)) == plain.fit(PROBLEM.bank, PROBLEM.targets).details
