"""The lower bounds of dependencies are true: with exactly those versions a program builds, serves, writes and asks."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECTS = [str(path.relative_to(ROOT)) for depth in ("", "*/", "*/*/") for path in ROOT.glob(f"{depth}pyproject.toml")]
LOCKED = {
    "pyproject.toml": {"collections", "serve"},
    "lab/pyproject.toml": set(),
    "clients/python/pyproject.toml": set(),
}
"""With the extras that are tried."""
PYTHON = ROOT / ".venv-lowest" / "bin" / "python"


def bounds(project, only=None):
    """Requirement, by name, with its lower bound, of the dependencies and all or some extras of a project."""
    stated = tomllib.loads((ROOT / project).read_text("utf-8"))["project"]
    extras = stated.get("optional-dependencies", {})
    listed = stated["dependencies"] + [each for name in extras if only is None or name in only for each in extras[name]]
    return [
        (wanted.name, [Version(each.version) for each in wanted.specifier if each.operator == ">="])
        for wanted in map(Requirement, listed)
        if wanted.name != stated["name"]
    ]


@pytest.mark.parametrize("project", PROJECTS)
def test_each_dependency_has_a_lower_bound(project):
    assert [name for name, lowest in bounds(project) if len(lowest) != 1] == []


def test_what_is_tried_are_the_lower_bounds_and_of_two_the_higher():
    lock = (ROOT / "requirements" / "lowest.txt").read_text("utf-8")
    pins = {name: Version(pin) for name, pin in re.findall(r"(?m)^([\w-]+)==([^\s;]+)", lock)}
    lowest = {}
    for project, extras in LOCKED.items():
        for name, [bound] in bounds(project, extras):
            lowest[name] = max(bound, lowest.get(name, bound))
    del lowest["hubless"]
    assert {name: pins.get(name) for name in lowest} == lowest


@pytest.mark.slow
def test_program_that_uses_everything_runs_with_the_lowest_versions(tmp_path):
    if not PYTHON.exists():
        assert not os.environ.get("CI"), "it needs `make test-all`, which makes .venv-lowest"
        pytest.skip("needs `make test-all`, which makes .venv-lowest")
    program = ROOT / "clients" / "tests" / "support" / "smoke.py"
    ours = {name: value for name, value in os.environ.items() if not name.startswith("HUBLESS_")}
    done = subprocess.run([PYTHON, program, tmp_path / "new"], env=ours, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
