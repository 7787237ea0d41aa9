import re
import subprocess

import pytest
from support.pages import PAGES, ROOT

TARGETS = set(re.findall(r"(?m)^([a-z-]+):.*?##", (ROOT / "Makefile").read_text()))


def code(text):
    fenced = re.findall(r"(?ms)^ *```.*?^ *```", text)
    return "\n".join([*fenced, *re.findall(r"`[^`\n]+`", re.sub(r"(?ms)^ *```.*?^ *```", "", text))])


def make_targets(page):
    return set(re.findall(r"\bmake ((?!-)[a-z-]+)", code(page.read_text())))


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.name)
def test_make_commands_of_a_page_are_targets(page):
    assert make_targets(page) <= TARGETS


def test_every_target_is_explained_to_contributors():
    assert make_targets(ROOT / "CONTRIBUTING.md") == TARGETS


def test_help_lists_every_command_within_80_columns():
    shown = subprocess.run(
        ["make", "-s", "--no-print-directory", "help"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    [phony] = re.findall(r"(?m)^\.PHONY: (.*)$", (ROOT / "Makefile").read_text())
    assert {line.split()[0] for line in shown.splitlines()} == set(phony.split()) == TARGETS
    assert [line for line in shown.splitlines() if len(line) > 80] == []


def test_clean_removes_what_git_does_not_keep_but_no_data_of_users():
    command = ["make", "-s", "--no-print-directory", "--dry-run", "clean"]
    shown = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    removed = {word.rstrip("/") for word in shown.replace("\\\n", " ").split()[2:]}
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines()}
    assert ignored - removed == {"__pycache__", "*.egg-info", "catalog", "benchmarks/results", "hubless.env"}
