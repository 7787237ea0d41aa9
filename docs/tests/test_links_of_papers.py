import re

import pytest
from support.pages import PAGES, ROOT, slug

PAPERS = [
    *PAGES,
    *(page for each in (".", "*", "clients/*", "engines/*") for page in sorted(ROOT.glob(f"{each}/*.md"))),
]


def anchors(page):
    text = re.sub(r"(?ms)^ *```.*?^ *```", "", page.read_text("utf-8"))
    return {slug(heading) for heading in re.findall(r"(?m)^#+ (.*)$", text)}


def leads_somewhere(paper, link):
    file, _, anchor = link.partition("#")
    page = paper.parent / file if file else paper
    return page.exists() and (not anchor or page.suffix != ".md" or anchor in anchors(page))


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: str(paper.relative_to(ROOT)))
def test_links_to_pages_and_headings_of_the_project_lead_somewhere(paper):
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", paper.read_text("utf-8")) if "://" not in link]
    assert [link for link in links if not leads_somewhere(paper, link)] == []
