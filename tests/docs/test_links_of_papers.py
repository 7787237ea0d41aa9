import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAPERS = [*sorted(ROOT.glob("*.md")), ROOT / "clients" / "python" / "README.md"]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: str(paper.relative_to(ROOT)))
def test_links_to_files_of_the_project_lead_somewhere(paper):
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", paper.read_text())
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (paper.parent / target).exists()] == []


def test_links_are_found_at_all():
    assert "docs/concepts.md" in re.findall(r"\]\(([^)#\s]+)", (ROOT / "README.md").read_text())
