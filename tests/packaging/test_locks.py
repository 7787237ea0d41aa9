"""Lock files agree wherever they are installed together, and pin what the projects ask for; the Makefile says where."""

import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = {str(path.relative_to(ROOT)) for path in (ROOT / "requirements").glob("*.txt")}
IMAGE = {"requirements/service.txt", *(lock for lock in LOCKS if "image-" in lock)}
"""docker/requirements.sh puts them together."""
PIN = re.compile(r"(?m)^([\w.-]+)==([^\s;]+)")


def run(*command):
    """What make says, whoever runs these tests: `make test ARGS=...` hands its own settings on."""
    environ = {name: value for name, value in os.environ.items() if name not in ("ARGS", "MAKEFLAGS", "MAKEOVERRIDES")}
    return subprocess.run(command, cwd=ROOT, env=environ, check=False, capture_output=True, text=True).stdout


def recipe(*targets):
    """What make would run for the targets, each line as its words."""
    shown = run("make", "--dry-run", "--always-make", *targets).replace("\\\n", " ")
    return [shlex.split(re.sub(r"\$\(.*?\)", "", line)) for line in shown.splitlines()]


def after(option, words):
    return [words[place + 1] for place, word in enumerate(words) if word == option]


@pytest.fixture(scope="module")
def installing():
    """Lines, as words, by which the Makefile, the Dockerfile or CI installs something."""
    stamps = set(re.findall(r"(?m)^(\.venv[\w-]*/\.ready):", run("make", "--print-data-base", "--question")))
    lines = recipe(*sorted(stamps))
    for file in (".ci/run", "Dockerfile"):
        lines += [line.split() for line in (ROOT / file).read_text().splitlines()]
    return [words for words in lines if "install" in words]


def folder(words):
    """The environment that a line installs something into."""
    [program] = [word for word in words if re.search(r"/bin/(pip|python)$", word)]
    return str(Path(program).parents[1])


@pytest.fixture(scope="module")
def environments(installing):
    """Folder -> the lock files that are installed there."""
    found = {"the image": IMAGE}
    for words in installing:
        for lock in LOCKS & set(after("-r", words)):
            found.setdefault(folder(words), set()).add(lock)
    return found


def pins(lock):
    """Name -> the versions that a lock pins: several where they depend on the system."""
    found = {}
    for name, version in PIN.findall((ROOT / lock).read_text("utf-8")):
        found.setdefault(name, set()).add(version)
    return found


def test_each_lock_is_installed_by_something(environments):
    assert set().union(*environments.values()) == LOCKS


def test_locks_that_are_installed_together_pin_the_same_versions(environments):
    assert environments[".venv-extras"] == {"requirements/dev.txt", "requirements/extras.txt"}
    for environment, locks in environments.items():
        together = {}
        for lock in locks:
            for name, versions in pins(lock).items():
                assert together.setdefault(name, versions) == versions, (environment, lock, name)


def read(path):
    return tomllib.loads((ROOT / path).read_text("utf-8"))


FILES = [path for depth in ("", "*/", "*/*/") for path in ROOT.glob(f"{depth}pyproject.toml")]
OURS = {project["name"]: project for project in [read(path)["project"] for path in FILES]}


def needed(lines):
    """Yield what some requirements come to: in place of a project of ours, what that asks for."""
    for wanted in map(Requirement, lines):
        if project := OURS.get(wanted.name):
            extras = [project["optional-dependencies"][extra] for extra in wanted.extras]
            yield from needed(sum(extras, project["dependencies"]))
        else:
            yield str(wanted)


def asked(words):
    """What a line of the recipe `lock` asks for."""
    names = [read(word)["project"]["name"] for word in words if word.endswith("pyproject.toml")]
    extras = ",".join(after("--extra", words))
    wanted = [*needed(f"{name}[{extras}]" if name == "hubless" else name for name in names)]
    for group in after("--group", words):
        path, _, name = group.rpartition(":")
        wanted += read(path or "pyproject.toml")["dependency-groups"][name]
    return wanted


def unmet(wanted, locks):
    """Requirement -> the versions that the locks pin, where they do not fulfil it."""
    found = {name: versions for lock in locks for name, versions in pins(lock).items()}
    pinned = {each: found.get(canonicalize_name(each.name), ()) for each in map(Requirement, wanted)}
    return {each: found for each, found in pinned.items() if not found or not all(map(each.specifier.contains, found))}


def test_each_lock_pins_what_its_line_of_the_recipe_asks_for():
    made = {after("-o", words)[0]: words for words in recipe("lock") if "-o" in words}
    assert made.keys() >= LOCKS
    for lock in LOCKS:
        together = {lock, "requirements/service.txt"} if lock in IMAGE else {lock}
        assert unmet(asked(made[lock]), together) == {}, lock


def test_projects_find_what_they_ask_for_in_the_environments_that_hold_them(environments, installing):
    held = [(folder(words), project) for words in installing for project in after("-e", words)]
    assert (".venv-langchain", "clients/python") in held
    for environment, project in held:
        wanted = needed([read(f"{project}/pyproject.toml")["project"]["name"]])
        assert unmet(wanted, environments[environment]) == {}, (environment, project)


def test_each_lock_has_hashes_and_no_address():
    for lock in LOCKS:
        text = (ROOT / lock).read_text("utf-8")
        _, *blocks = re.split(r"(?m)^(?=[\w.-]+==)", text)
        assert blocks, lock
        assert "://" not in text, lock
        assert [block for block in blocks if "--hash=sha256:" not in block] == [], lock
