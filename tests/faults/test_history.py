"""The checker of writes finds what is lost, stale, or given twice by a scroll."""

import pytest
from support.history import Attempt, History, Value, Wrong

STORED = {"p": Value("p", "p", 0)}
WRITTEN = {"p": Value("p t", "t", 1)}


@pytest.fixture
def history():
    return History(STORED)


def write(history, *, durable=True):
    attempt = Attempt("put", [("p", "p t")], "t", durable=durable)
    history.begin(attempt)
    history.answered(attempt, 200, {"seq": 1, "inserted": 0, "updated": 1})


def test_read_after_a_write_sees_it(history):
    write(history)
    history.saw(history.last, history.most, len, 1)
    history.saw(history.last, history.most, lambda state: state, WRITTEN)
    history.settle()
    history.saw(history.last, history.most, lambda state: state, STORED)
    with pytest.raises(Wrong, match="seen"):
        history.settle()


@pytest.mark.parametrize("durable", [True, False])
def test_only_a_power_cut_may_take_a_write_and_only_one_from_memory(history, durable):
    write(history, durable=durable)
    with pytest.raises(Wrong, match="acknowledged"):
        history.settle(0, STORED)
    if durable:
        with pytest.raises(Wrong, match="acknowledged"):
            history.settle(0, STORED, power_cut=True)
    else:
        history.settle(0, STORED, power_cut=True)


@pytest.mark.parametrize(("ids", "right"), [(["p"], True), ([], False), (["p", "p"], False), (["p", "q"], False)])
def test_scroll_gives_each_point_once(history, ids, right):
    history.scrolled(0, 0, ids)
    if right:
        history.settle()
        assert history.scrolls == 1
    else:
        with pytest.raises(Wrong, match="scroll"):
            history.settle()


def test_scroll_may_give_a_point_that_was_written_meanwhile_any_number_of_times(history):
    low = history.last
    write(history)
    history.scrolled(low, history.most, [])
    history.scrolled(low, history.most, ["p", "p"])
    history.settle()
