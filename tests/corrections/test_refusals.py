"""What the methods refuse, by name."""

import numpy as np
import pytest

from hubless import CORRECTIONS
from hubless.corrections import correction
from hubless.errors import InputError

NAN = float("nan")


@pytest.mark.parametrize(("name", "instead"), [("dual_is", "is"), ("dual_dis", "dis"), ("dbsn", "sn")])
def test_target_bank_that_is_missing_is_asked_for_naming_what_does_without(problem, name, instead):
    with pytest.raises(InputError, match=rf"^target bank: expected vectors, as {name} needs them \({instead} does"):
        CORRECTIONS[name]().fit(problem.bank, problem.targets)


@pytest.mark.parametrize("name", CORRECTIONS)
def test_unknown_parameter_is_refused_naming_the_known_ones(name):
    with pytest.raises(
        InputError, match=f"parameter of {name}: expected (one of|no parameters).*, got colour"
    ) as caught:
        correction(name, {"colour": "red"})
    for field in CORRECTIONS[name].__dataclass_fields__:
        assert field in caught.value.expected


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3", NAN])
@pytest.mark.parametrize("name", ["dis", "dual_dis", "ls", "nicdm", "mp"])
def test_k_that_is_no_whole_number_above_zero_is_refused(name, k):
    with pytest.raises(InputError, match=r"^k: expected a whole number of at least [12], got "):
        CORRECTIONS[name](k=k)


@pytest.mark.parametrize("weight", [-0.1, NAN, float("inf"), "1", None, True])
@pytest.mark.parametrize("name", ["dn", "cent"])
def test_weight_that_is_no_finite_number_from_zero_is_refused(name, weight):
    with pytest.raises(InputError, match=r"^weight: expected a number of at least 0, got "):
        CORRECTIONS[name](weight=weight)


@pytest.mark.parametrize("temperature", [0, -0.1, NAN, float("inf"), None, True, "warm"])
@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("dis", "temperature"),
        ("dsl", "temperature"),
        ("sinkhorn", "temperature"),
        ("dual_is", "query_temperature"),
        ("dual_is", "target_temperature"),
        ("dual_dis", "query_temperature"),
        ("dual_dis", "target_temperature"),
    ],
)
def test_temperature_that_is_no_finite_number_above_zero_is_refused_by_its_name(name, parameter, temperature):
    with pytest.raises(InputError, match=rf"^{parameter}: expected a number above 0"):
        CORRECTIONS[name](**{parameter: temperature})


@pytest.mark.parametrize("name", ["dual_is", "dual_dis"])
def test_auto_temperatures_are_found_for_either_bank(problem, name):
    made = CORRECTIONS[name](query_temperature="auto", target_temperature="auto")
    details = made.fit(problem.bank, problem.targets, problem.target_bank).details
    alone = CORRECTIONS["is"]().fit(problem.bank, problem.targets).temperature
    assert details["query_temperature"] == alone
    assert details["target_temperature"] != alone


@pytest.mark.parametrize(("name", "k"), [("ls", 91), ("nicdm", 91), ("mp", 91), ("csls", 91)])
def test_bank_smaller_than_k_is_refused(problem, name, k):
    with pytest.raises(InputError, match="query bank: expected at least 91 rows"):
        CORRECTIONS[name](k=k).fit(problem.bank, problem.targets)


def test_iterations_of_single_query_sinkhorn_below_one_are_refused():
    with pytest.raises(InputError, match="iterations: expected a whole number of at least 1, got 0"):
        CORRECTIONS["sinkhorn"](iterations=0)


@pytest.mark.parametrize("name", ["ls", "nicdm"])
def test_similarities_above_one_have_no_distance_and_are_refused(problem, name):
    long = np.float32(30) * problem.targets
    fitted = CORRECTIONS[name](k=1).fit(problem.bank, long)
    with pytest.raises(InputError, match=r"similarities: expected at most 1.*metric cosine"):
        fitted.query_time(long)
