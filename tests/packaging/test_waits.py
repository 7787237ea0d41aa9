"""Tests that wait leave the processor to what they wait for; on two cores a busy loop made others fail."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]


def is_busy(node):
    return isinstance(node, ast.While) and all(isinstance(line, ast.Pass) for line in node.body)


def test_no_test_waits_in_a_busy_loop():
    busy = [
        f"{path.relative_to(ROOT)}:{node.lineno}: sleep, or take support.until"
        for tests in ("tests", "databases/tests", "lab/tests", "demo/tests")
        for path in (ROOT / tests).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if is_busy(node)
    ]
    assert busy == []
