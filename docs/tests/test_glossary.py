import re

import pytest
from support.pages import PAGES, ROOT, slug

GLOSSARY = ROOT / "docs" / "glossary.md"
LINKING = [*PAGES, *sorted(ROOT.glob("*.md")), ROOT / "clients" / "python" / "README.md"]


def entries():
    return dict(re.findall(r"(?ms)^## (.+?)$\n+(.*?)\n*(?=^## |\Z)", GLOSSARY.read_text("utf-8")))


def anchors():
    return {slug(term): term for term in entries()}


def links(page):
    text = page.read_text("utf-8")
    found = set(re.findall(r"\]\((?:[\w./]*/)?glossary\.md#([^)]*)\)", text))
    return found | set(re.findall(r"\]\(#([^)]*)\)", text)) if page == GLOSSARY else found


LINKED = {anchor for page in LINKING if page != GLOSSARY for anchor in links(page)}


def test_terms_have_anchors_of_their_own():
    assert len(anchors()) == len(entries()) > 30


@pytest.mark.parametrize("anchor", anchors())
def test_term_is_linked_from_another_page(anchor):
    assert anchor in LINKED


@pytest.mark.parametrize("term", entries())
def test_term_is_explained_in_one_to_three_sentences(term):
    assert 1 <= len(re.findall(r"\w[`*)\]]*\.(?=\s|$)", entries()[term])) <= 3
