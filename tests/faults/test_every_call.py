"""Each call that changes a file fails once, or the process dies there: nothing acknowledged is lost, nothing is half.

Calls of Python, SQLite, Arrow and Faiss alike. `make crash` takes all of them, other runs one with each fault.
"""

import itertools
import json
from pathlib import Path

import pytest
from support import calls, refused_calls

FEW, ALL = 1, 1_000_000
SCRIPT = Path(refused_calls.__file__)


@pytest.mark.skipif(not calls.COMPILER, reason="needs a C compiler, and Linux")
@pytest.mark.parametrize("moments", [FEW, pytest.param(ALL, marks=[pytest.mark.slow, pytest.mark.timeout(14_400)])])
def test_any_call_that_fails_loses_nothing_and_the_next_run_mends_it(tmp_path, moments):
    calls.compile_into(tmp_path)
    printed = [json.loads(line) for line in calls.run(tmp_path, SCRIPT, tmp_path, moments).splitlines()]
    for action, fault in itertools.product(refused_calls.ACTIONS, refused_calls.FAULTS):
        results = [line for line in printed if (line["action"], line["fault"]) == (action, fault)]
        print(f"{action}, {fault}: {len(results)} of {results[0]['of']} calls")
        assert [result for result in results if result["problem"]] == []
        assert {result["error"] for result in results} <= {None, "killed" if fault == "kill" else "StorageError"}
