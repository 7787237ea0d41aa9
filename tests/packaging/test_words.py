import ast

import pytest
from support.size import ROOT, tracked

REFUSED = {"What", "Whether", "How", "That", "Those"}
SOURCES = tracked("indexer/*.py", "service/*.py", "engines/*.py", "clients/*.py", "benchmarks/*.py")
FILES = [file for file in SOURCES if "tests" not in file.parts]
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
