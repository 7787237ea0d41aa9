"""Tests that wait leave the processor to what they wait for; on two cores a busy loop made others fail."""

import ast

from support.size import ROOT, tracked


def test_no_test_waits_in_a_busy_loop():
    busy = [
        f"{path}:{node.lineno}: sleep, or take support.until"
        for path in tracked("tests/*.py", "*/tests/*.py")
        for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8")))
        if isinstance(node, ast.While) and all(isinstance(line, ast.Pass) for line in node.body)
    ]
    assert busy == []
