import ast
import re

import pytest
from support.size import ROOT, tracked

REFUSED = {"What", "Whether", "How", "That", "Those"}
RINGS = ["indexer", "service", "databases", "encoders", "lab", "matching", "objects"]
SOURCES = tracked(*(f"{folder}/*.py" for folder in [*RINGS, "engines", "clients", "benchmarks"]))
FILES = [file for file in SOURCES if "tests" not in file.parts]
OTHER_NUMBER = re.compile(r"(?<![\w.\])}\\*:`+%-])\.\d|\d%(?![\dA-Z])")
"""A fraction without its zero, or a share without the space before %."""
AS_THEY_ARE = ("20%", "100%")
"""A share as `--set bank_size` takes it, and a size in SVG."""
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@pytest.mark.parametrize("folder", sorted({file.parts[0] for file in FILES}))
def test_no_docstring_starts_with_a_word_that_hides_the_verb(folder):
    found = []
    for file in FILES:
        if file.parts[0] == folder:
            nodes = [
                node for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8"))) if isinstance(node, DOCUMENTED)
            ]
            texts = [text for node in nodes if (text := ast.get_docstring(node))]
            found += [f"{file}: {text.splitlines()[0]}" for text in texts if text.split()[0].strip("`*,.:") in REFUSED]
    assert found == []


def texts_of(tree):
    """Yield the texts of a module, docstrings among them. A format that writes a share stands for one, 0%."""
    formats = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None
        for part in node.format_spec.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            as_format = "0%" if node.value.endswith("%") else ""
            yield as_format if id(node) in formats else node.value


@pytest.mark.parametrize("folder", RINGS)
def test_numbers_are_written_as_5_percent_and_0_83(folder):
    found = []
    for file in FILES:
        if file.parts[0] == folder:
            for text in texts_of(ast.parse((ROOT / file).read_text("utf-8"))):
                for known in AS_THEY_ARE:
                    text = text.replace(known, "")
                found += [f"{file}: {line.strip()}" for line in text.splitlines() if OTHER_NUMBER.search(line)]
    assert found == []
