"""Files that a forge reads: how to cite the project, how to report, and what runs its tests."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SCHEMAS = {"workflows": "vendor.github-workflows", "ISSUE_TEMPLATE": "vendor.github-issue-forms"}
TOUCHED = runpy.run_path(str(ROOT / ".ci" / "touched.py"))


def read(path):
    return yaml.safe_load(path.read_text("utf-8"))


def test_every_place_names_the_version_of_the_source_in_all_its_ways():
    made = runpy.run_path(str(ROOT / ".ci" / "version.py"))
    ways = made["spelled"](made["known"]())
    for file, forms in made["places"]():
        assert any(form.format(*ways) in (ROOT / file).read_text("utf-8") for form in forms), file


def test_citation_names_the_licence_and_the_four_papers():
    cited = read(ROOT / "CITATION.cff")
    assert cited["license"] == "Apache-2.0"
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


@pytest.mark.parametrize("path", sorted((ROOT / ".github").glob("*/*.yml")), ids=lambda path: path.stem)
def test_workflow_or_template_is_one_that_the_forge_reads(path):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", SCHEMAS[path.parent.name], path]
    subprocess.run(command, check=True)


def test_every_command_that_tests_something_is_run_by_a_workflow():
    recipes = re.findall(r"(?m)^([a-z-]+):.*## .*((?:\n\t.*)+)", (ROOT / "Makefile").read_text("utf-8"))
    tests = "PYTEST|-m pytest|--strict|support.simulate|-m mutants|pip-audit"
    testing = {name for name, recipe in recipes if re.search(tests, recipe)}
    daily = set(read(ROOT / ".github" / "workflows" / "daily.yml")["jobs"]["daily"]["strategy"]["matrix"]["target"])
    assert {"test", "test-all", "docs", "stores", "simulate"} < testing
    assert testing == {"test", "rings", *daily, *TOUCHED["TOUCHES"]}


@pytest.mark.parametrize(
    ("file", "targets", "node", "rings"),
    [
        ("docs/cli.md", ["docs", "extras"], [], "docs"),
        ("engines/milvus/pyproject.toml", ["milvus"], [], "engines/milvus docker docs"),
        ("databases/tests/conftest.py", ["stores"], [], "databases docker docs"),
        ("clients/mcp/README.md", ["mcp"], [], "clients docs"),
        ("clients/python/hubless_client/client.py", list(TOUCHED["ADAPTERS"]), [], "clients docs"),
        ("clients/typescript/src/index.ts", [], list(TOUCHED["NODES"]), "clients docs"),
        ("indexer/hubless/errors.py", [], [], " ".join(TOUCHED["RINGS"])),
        ("tests/knn/test_kinds.py", [], [], ""),
        (None, list(TOUCHED["TOUCHES"]), list(TOUCHED["NODES"]), " ".join(TOUCHED["RINGS"])),
    ],
)
def test_commit_runs_what_it_touches_and_everything_after_an_unknown_one(tmp_path, file, targets, node, rings):
    def run(*command):
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    run("git", "init", "--quiet")
    if file is not None:
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text("new")
        run("git", "add", ".")
    empty = run("git", "hash-object", "-t", "tree", "-w", "/dev/null").strip()
    told = run(ROOT / ".ci" / "touched.py", "0" * 40 if file is None else empty)
    assert told == f"targets={json.dumps(targets)}\nnode={json.dumps(node)}\nrings={rings}\n"


@pytest.mark.parametrize(
    "place",
    sorted(
        {*sum([*TOUCHED["TOUCHES"].values(), *TOUCHED["RINGS"].values()], TOUCHED["INNER"]), *TOUCHED["TYPESCRIPT"]}
    ),
)
def test_place_that_a_workflow_looks_at_is_there(place):
    assert (ROOT / place).exists()


def test_every_folder_of_tests_is_of_a_ring_that_a_workflow_runs():
    folders = {str(path.relative_to(ROOT).parent) for path in (*ROOT.glob("*/tests"), *ROOT.glob("*/*/tests"))}
    outside = {"engines/ray", *(f"clients/{name}" for name in TOUCHED["ADAPTERS"])}
    assert folders - outside == set(TOUCHED["RINGS"])
