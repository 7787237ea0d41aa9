"""The page of the API has every public name. test_pages_run.py runs the page "In Python"."""

import re
from pathlib import Path

import hubless

DOCS = Path(__file__).parents[2] / "docs"


def test_api_page_has_every_public_name():
    page = (DOCS / "api.md").read_text("utf-8")
    assert set(re.findall(r"(?m)^::: hubless\.(\w+)$", page)) == set(hubless.__all__) - {"CORRECTIONS", "Collection"}


def test_public_names_and_methods_have_docstrings():
    for name in set(hubless.__all__) - {"CORRECTIONS"}:
        public = getattr(hubless, name)
        assert public.__doc__, name
    for name, member in vars(hubless.Index).items():
        assert name.startswith("_") or member.__doc__, name
