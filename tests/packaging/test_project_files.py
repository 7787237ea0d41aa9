"""Files that a forge reads: how to cite the project, how to report, and what runs its tests."""

import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def read(path):
    return yaml.safe_load(path.read_text("utf-8"))


def test_citation_has_the_projects_version_and_the_four_papers():
    cited = read(ROOT / "CITATION.cff")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])
    assert {(paper["year"], len(paper["authors"])) for paper in cited["references"]} == {
        (2025, 5),
        (2022, 5),
        (2024, 6),
        (2023, 7),
    }


def test_workflow_runs_what_a_contributor_runs():
    steps = read(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["test"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == [".ci/run"]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_template_asks_for_something(path):
    template = read(path)
    assert {"name", "description", "body"} <= set(template)
    assert any(each["type"] == "textarea" for each in template["body"])
