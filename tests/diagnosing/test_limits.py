import pytest

from hubless.diagnosing.limits import failed_gates, read_bounds
from hubless.errors import InputError

FOUND = {"depths": [{}, {"raw": {"skewness": 2.5}}], "gain": {"raw": 0.5}}


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        ({"max_skewness": 2.5}, []),
        ({"max_skewness": 2, "min_recall_at_1": "old.json"}, ["max_skewness: 2.5 is above the bound, 2"]),
        ({"min_recall_at_1": 0.6}, ["min_recall_at_1: 0.5 is below the bound, 0.6"]),
    ],
)
def test_gates_say_what_was_measured_and_the_bound(gates, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.json").write_text('{"gain": {"raw": 0.5}}')
    assert list(map(str, failed_gates(read_bounds(gates), FOUND))) == said


def test_gate_that_is_not_known_is_refused():
    with pytest.raises(InputError, match="gates: expected max_skewness or min_recall_at_1, got max_most"):
        read_bounds({"max_most": 3})
