"""Input files that change while a build reads them: a clear error, or the right version."""

import re

import pytest
from support import changed_inputs

CHANGED = re.compile(r"\((targets\.|b\.parquet|payload\.|encoder\.npy).*\): .* got one that (was changed|is gone)$")
QUICK = ("npy", "parquet", "csv")


@pytest.mark.parametrize(
    ("kinds", "moments"),
    [
        (QUICK, 4),
        pytest.param(changed_inputs.INPUTS, 40, marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
    ],
    ids=["some", "all"],
)
def test_input_that_changes_during_a_build_is_refused_or_read_whole(tmp_path, kinds, moments):
    found = changed_inputs.run(kinds, tmp_path, moments)
    ways = {(outcome["kind"], outcome["change"]) for outcome in found}
    assert len(ways) == len(kinds) * len(changed_inputs.CHANGES)
    for outcome in found:
        if outcome["error"]:
            assert outcome["error"] == "InputError", outcome
            assert "\n" not in outcome["text"], outcome
            assert CHANGED.search(outcome["text"]), outcome
        else:
            assert outcome["right"], outcome
    assert sum(outcome["error"] is not None for outcome in found) > len(ways)
