"""The adapters of frameworks have environments of their own. Their tests run there, against a real server here."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from support.server_process import served

ROOT = Path(__file__).parents[3]
KEY = "key-of-the-adapters-tests"


def run_in_environment(name, *command, **variables):
    """Run a command of an adapter's environment in its folder; skip where `make NAME` has not made it."""
    home = ROOT / "clients" / name
    program = ROOT / f".venv-{name}" / "bin" / command[0]
    if not program.exists():
        # CI must not pass by skipping
        assert not os.environ.get("CI"), f"CI needs `make {name}`"
        pytest.skip(f"needs `make {name}`")
    words = [str(program), *command[1:]]
    done = subprocess.run(words, cwd=home, env=os.environ | variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class AdapterTests:
    """What every adapter has to pass. A subclass fills in what follows."""

    name: str  # of its folder below clients/, and of its environment
    packages: tuple[str, ...]  # what it can be imported as
    least: int  # how many tests there have to be
    skipped = 0  # how many of them the framework's own suite may skip

    def test_tests_of_the_framework_and_its_own_pass(self, tmp_path):
        with served(tmp_path, admin_keys=KEY) as server:
            command = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
            printed = run_in_environment(self.name, *command, HUBLESS_URL=server.url, HUBLESS_KEY=KEY)
        counts = {what: int(number) for number, what in re.findall(r"(\d+) (passed|skipped)", printed)}
        assert counts["passed"] >= self.least
        assert counts.get("skipped", 0) <= self.skipped

    def test_package_says_its_version(self):
        module = next(iter(self.packages))
        stated = tomllib.loads((ROOT / "clients" / self.name / "pyproject.toml").read_text("utf-8"))
        said = run_in_environment(self.name, "python", "-c", f"import {module}; print({module}.__version__)")
        assert said.strip() == stated["project"]["version"]

    def test_types_are_strict(self):
        named = [option for package in self.packages for option in ("-p", package)]
        options = ["--strict", "--namespace-packages", "--explicit-package-bases"]
        source = "src" if (ROOT / "clients" / self.name / "src").is_dir() else "."
        run_in_environment(self.name, "python", "-m", "mypy", *options, *named, MYPYPATH=source)

    def test_installs_with_what_it_declares(self):
        # the environment has only the packages that the adapter's own project file asks for
        run_in_environment(self.name, "python", "-m", "pip", "check")
