import pytest

from hubless.errors import InputError
from hubless.knn import INDEXES
from hubless.knn.aims import VARIANTS, Aims, kinds_to_try, parse_aims


@pytest.mark.parametrize(("memory", "expected"), [("4GB", 4 * 10**9), ("512MiB", 512 * 2**20), (1000, 1000)])
def test_memory_is_read_as_bytes(memory, expected):
    assert parse_aims(0.9, memory, None).memory == expected


@pytest.mark.parametrize(("latency", "expected"), [("2ms", 2), ("0.5s", 500), ("250us", 0.25), (3, 3)])
def test_latency_is_read_as_milliseconds(latency, expected):
    assert parse_aims(0.9, None, latency).latency_ms == pytest.approx(expected)


WRONG = {
    "recall": (0, 1.01, float("nan")),
    "memory": ("much", 0, -5, True),
    "latency": ("2", "soon", "1.2.3ms", 0, float("inf")),
}


@pytest.mark.parametrize(("named", "value"), [(named, value) for named, values in WRONG.items() for value in values])
def test_aim_that_means_nothing_is_refused_naming_it(named, value):
    with pytest.raises(InputError) as refused:
        parse_aims(**{"recall": 0.9, "memory": None, "latency": None, named: value})
    assert refused.value.parameter == named


def names(name, count, aims=None, dim=528):
    groups, notes = kinds_to_try(name, INDEXES, count, dim, aims or Aims())
    return [[kind.label for kind in kinds] for kinds in groups], notes


def test_auto_scans_few_targets_exactly_and_codes_of_many():
    assert names("auto", 1000) == ([["flat"]], [])
    assert names("auto", 30_000) == ([["fastscan"], ["flat"]], [])


def test_auto_compares_all_ways_to_scan_codes_of_many_targets():
    codes = ["fastscan", "fastscan_fine", "ivf_fastscan", "ivf_fastscan_fine"]
    assert names("auto", 100_000) == ([codes, ["flat"]], [])
    assert names("auto", 100_000, Aims(latency_ms=1)) == ([codes, ["hnsw_sq8"], ["flat"]], [])


def test_named_kind_is_built_in_each_of_its_ways():
    assert names("ivf_fastscan", 100_000) == ([["ivf_fastscan", "ivf_fastscan_fine"]], [])
    assert names("ivf_fastscan", 30_000) == ([["ivf_fastscan"]], [])


def test_memory_for_half_precision_only_takes_half_precision():
    memory = int(1.1 * INDEXES["fastscan_fp16"].size(30_000, 528))
    assert names("auto", 30_000, Aims(memory=memory))[0] == [["fastscan_fp16"], ["flat_fp16"]]


def test_memory_too_small_for_twice_the_codes_leaves_them_out():
    memory = INDEXES["ivf_fastscan_fp16"].size(100_000, 528)
    assert names("auto", 100_000, Aims(memory=memory))[0] == [["fastscan_fp16", "ivf_fastscan_fp16"], ["flat_fp16"]]


def test_memory_too_small_for_any_kind_is_refused_naming_the_least():
    least = INDEXES["flat_fp16"].size(100_000, 528)
    with pytest.raises(InputError, match=f"memory.*{least:,} bytes.*flat_fp16.*got 1,000"):
        names("auto", 100_000, Aims(memory=1000))
    assert names("auto", 100_000, Aims(memory=least))[0] == [["flat_fp16"]]


@pytest.mark.parametrize("name", [name for name, kind in INDEXES.items() if kind.least > 1])
def test_too_few_targets_to_train_on_are_scanned_and_it_is_said(name):
    found, notes = names(name, INDEXES[name].least - 1)
    assert found == [[VARIANTS["flat"][0]]]
    assert name in notes[0]
    assert str(INDEXES[name].least) in notes[0]
    assert names(name, INDEXES[name].least) == ([[name]], [])


def test_auto_with_a_latency_tries_faster_kinds_after_flat():
    assert names("auto", 5000, Aims(latency_ms=0.01))[0] == [["flat"], ["fastscan", "ivf_fastscan"], ["hnsw_sq8"]]
