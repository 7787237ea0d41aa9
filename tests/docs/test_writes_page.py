"""The page about writes names a test for each promise. test_pages_run.py runs its job and its commands."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "writes.md").read_text("utf-8")
PROMISES = re.findall(r"(?m)^\| .* \| `(test_\w+)` \|$", PAGE)


def test_each_promise_names_a_test_that_there_is():
    texts = (path.read_text("utf-8") for path in TESTS.rglob("test_*.py"))
    found = {name for text in texts for name in re.findall(r"def (test_\w+)", text)}
    assert len(PROMISES) >= 10
    assert set(PROMISES) <= found
