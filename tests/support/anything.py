"""Anything at all, and near misses, for what parses by hand."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

QUICK, LONG = 40, 1500
EXAMPLES = pytest.mark.parametrize(
    "examples", [pytest.param(QUICK, id="quick"), pytest.param(LONG, id="long", marks=pytest.mark.slow)]
)
NUMBERS = st.integers() | st.sampled_from([2**63, -(2**63) - 1, 2**64, 10**400]) | st.floats()
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


def check(examples, strategy, example):
    """Run an example for so many values, always the same ones where they are few."""

    plain = {"database": None, "deadline": None, "phases": [Phase.generate], "suppress_health_check": list(HealthCheck)}
    settings(max_examples=examples, derandomize=examples < LONG, **plain)(given(strategy)(example))()


def mutations(content):
    """Bytes with up to four cuts, insertions, flips and repetitions."""

    def change(edits):
        changed = bytearray(content)
        for place, width, filling in edits:
            at = place % (len(changed) + 1)
            changed[at : at + width] = filling
        return bytes(changed)

    fillings = st.binary(max_size=4) | st.sampled_from([b"\0" * 8, b"\xff" * 8, b"[" * 3000, b'{"a":' * 3000])
    edit = st.tuples(st.integers(0, 2**31), st.sampled_from([0, 1, 1, 2, 8, 100, 10_000]), fillings)
    return st.lists(edit, min_size=1, max_size=4).map(change) | st.binary(max_size=200)
