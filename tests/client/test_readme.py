"""The README's examples run as they stand, against the real service."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "clients" / "python" / "README.md").read_text()
BLOCKS = re.findall(r"(?ms)^```python\n(.*?)^```$", README)
# The tests' collection knows other words than the README's.
STANDINS = {
    '"stdlib"': '"words"',
    "split a string at a separator": "amber birch",
    "parse a date": "cedar delta",
    "remove a directory tree": "ember fjord",
}


def test_readme_has_examples():
    assert len(BLOCKS) >= 5


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_example_of_the_readme_runs(number, server):
    code = BLOCKS[number].replace("http://127.0.0.1:8000", server)
    for theirs, ours in STANDINS.items():
        code = code.replace(theirs, ours)
    exec(compile(code, f"README example {number}", "exec"), {})  # noqa: S102
