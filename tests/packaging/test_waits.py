"""Tests that wait leave the processor to what they wait for; on two cores a busy loop made others fail."""

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def is_busy(node):
    return isinstance(node, ast.While) and all(isinstance(line, ast.Pass) for line in node.body)


def test_no_test_waits_in_a_busy_loop():
    busy = [
        f"{path.relative_to(TESTS)}:{node.lineno}: sleep, or take support.until"
        for path in TESTS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if is_busy(node)
    ]
    assert busy == []
