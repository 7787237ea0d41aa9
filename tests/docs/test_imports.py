"""What the pages import exists: the modules and names of `import` lines in their Python blocks."""

import ast
import importlib
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "clients" / "python" / "README.md"]


ADAPTERS = ("langchain_hubless", "llama_index.", "haystack")  # have environments of their own: see tests/adapters


def imports(page):
    """(module, name) of each import in the Python blocks of a page; the name is None for `import module`."""
    for block in re.findall(r"(?ms)^ *```python\n(.*?)^ *```", page.read_text("utf-8")):
        for node in ast.walk(ast.parse(textwrap.dedent(block))):
            if isinstance(node, ast.Import):
                yield from ((alias.name, None) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((node.module, alias.name) for alias in node.names if not node.module.startswith(ADAPTERS))


FOUND = sorted({(page.name, module, name or "") for page in PAGES for module, name in imports(page)})


def test_pages_import_at_all():
    assert ("python.md", "hubless", "") in FOUND


@pytest.mark.parametrize(("page", "module", "name"), FOUND)
def test_import_of_a_page_works(page, module, name):
    imported = importlib.import_module(module)
    assert not name or hasattr(imported, name)
