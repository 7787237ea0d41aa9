import json

import numpy as np
import pytest
from support.problems import with_hubs

from hubless import CORRECTIONS
from hubless.corrections import correction
from hubless.errors import InputError

PROBLEM = with_hubs()
NAN, INFINITY = float("nan"), float("inf")
TEMPERATURES = ("temperature", "query_temperature", "target_temperature")
MAY_HAVE_A_SMALLER_BANK = {"dis", "dual_dis"}
"""Their k counts what a gate looks at."""


def having(parameter):
    return [name for name, made in CORRECTIONS.items() if parameter in made.__dataclass_fields__]


@pytest.mark.parametrize(
    ("name", "parameter", "expected", "more"),
    [
        *((name, "k", "a whole number of at least [12], got ", 1.5) for name in having("k")),
        *((name, "weight", "a number of at least 0, got ", INFINITY) for name in having("weight")),
        *((name, each, "a number above 0", 0) for each in TEMPERATURES for name in having(each)),
        *((name, "perplexity", "a number above 1, got ", 1) for name in having("perplexity")),
    ],
)
def test_number_out_of_its_range_is_refused_by_the_name_of_the_parameter(name, parameter, expected, more):
    for wrong in (-0.1, NAN, True, "3", more):
        with pytest.raises(InputError, match=rf"^{parameter}: expected {expected}") as caught:
            CORRECTIONS[name](**{parameter: wrong})
        assert repr(wrong) in str(caught.value)


@pytest.mark.parametrize("name", having("perplexity"))
def test_perplexity_beside_a_temperature_is_refused(name):
    with pytest.raises(InputError, match=r"^perplexity: expected none, as the temperature is not .auto., got 20"):
        CORRECTIONS[name](temperature=0.1, perplexity=20)


@pytest.mark.parametrize(
    ("name", "parameter", "wrong", "expected"),
    [
        ("sn", "iterations", 0, "a whole number of at least 1, got 0"),
        ("dbsn", "iterations", 2.0, "a whole number of at least 1, got 2.0"),
        ("sinkhorn", "iterations", 0, "a whole number of at least 1, got 0"),
        ("dis", "gate", "both", "one of query, target, got 'both'"),
        ("sn", "fit_sample", 1, "a whole number of at least 2"),
        ("sn", "fit_sample", "most", 'a whole number of at least 2, or "all", got'),
    ],
)
def test_counts_of_sinkhorn_and_gates_that_there_are_not_are_refused(name, parameter, wrong, expected):
    with pytest.raises(InputError, match=rf"^{parameter}: expected {expected}"):
        CORRECTIONS[name](**{parameter: wrong})


def test_unknown_correction_is_refused_naming_the_known_ones():
    with pytest.raises(InputError, match=r"^correction: expected one of auto, none, nnn, .*dbsn.*, got hubness"):
        correction("hubness")


@pytest.mark.parametrize("name", CORRECTIONS)
def test_unknown_parameter_is_refused_naming_the_known_ones(name):
    refused = f"parameter of {name}: expected (one of|no parameters).*, got colour"
    with pytest.raises(InputError, match=refused) as caught:
        correction(name, {"colour": "red"})
    for field in CORRECTIONS[name].__dataclass_fields__:
        assert field in caught.value.expected


@pytest.mark.parametrize("name", sorted(set(having("k")) - MAY_HAVE_A_SMALLER_BANK))
def test_bank_smaller_than_k_is_refused(name):
    with pytest.raises(InputError, match=r"^query bank: expected at least 151 rows, .*, got 150"):
        correction(name, {"k": 151}).fit(PROBLEM.bank, PROBLEM.targets)


@pytest.mark.parametrize("name", ["is", "sn", "dbsn", "auto"])
def test_softmax_over_a_single_bank_query_is_refused(name):
    with pytest.raises(InputError, match=r"^query bank: expected at least 2 rows, .*got 1"):
        correction(name).fit(PROBLEM.bank[:1], PROBLEM.targets, PROBLEM.target_bank)


@pytest.mark.parametrize(("name", "instead"), [("dual_is", "is"), ("dual_dis", "dis"), ("dbsn", "sn")])
def test_target_bank_that_is_missing_is_asked_for_naming_what_does_without(name, instead):
    with pytest.raises(InputError, match=rf"^target bank: expected vectors, as {name} needs them \({instead} does"):
        CORRECTIONS[name]().fit(PROBLEM.bank, PROBLEM.targets)


@pytest.mark.parametrize("name", ["dual_is", "dual_dis"])
def test_auto_temperatures_are_found_for_either_bank(problem, name):
    made = CORRECTIONS[name](query_temperature="auto", target_temperature="auto")
    details = made.fit(problem.bank, problem.targets, problem.target_bank).details
    alone = CORRECTIONS["is"]().fit(problem.bank, problem.targets).temperature
    assert details["query_temperature"] == alone
    assert details["target_temperature"] != alone


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("nnn", {"k": np.int64(5), "weight": np.float32(0.5)}),
        ("csls", {"k": np.uint8(5)}),
        ("sn", {"iterations": np.int32(3), "temperature": np.float64(0.1)}),
        ("is", {"perplexity": np.float32(30)}),
    ],
)
def test_numbers_of_numpy_are_taken_and_told_as_json(name, parameters):
    fitted = correction(name, parameters).fit(PROBLEM.bank, PROBLEM.targets)
    plain = correction(name, {key: value.item() for key, value in parameters.items()})
    assert json.loads(json.dumps(fitted.details)) == plain.fit(PROBLEM.bank, PROBLEM.targets).details
