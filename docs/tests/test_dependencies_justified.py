import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECTS = [ROOT / "pyproject.toml", *sorted(ROOT.glob("*/pyproject.toml")), *sorted(ROOT.glob("*/*/pyproject.toml"))]
REQUIREMENT = re.compile(r'(?m)^    "([\w.-]+)(?:\[[^\]]*\])?[<>=;][^"]*",(.*)$')


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.parent.name)
def test_each_dependency_says_why_it_is_needed(project):
    text = re.sub(r"(?ms)^(stores|generators) = .*?^\]", "", project.read_text("utf-8"))  # say it once above
    found = REQUIREMENT.findall(text)
    assert found
    assert [name for name, comment in found if not re.search(r"# \S+ \S+", comment)] == []


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.parent.name)
def test_each_extra_says_why_it_is_needed(project):
    extras = re.findall(r"(?ms)^\[project.optional-dependencies\]$(.*?)^\[", project.read_text("utf-8"))
    lines = [line for text in extras for line in text.splitlines() if re.match("[\\w-]+ = ", line)]
    assert [line for line in lines if not re.search(r"# \S+ \S+", line)] == []
