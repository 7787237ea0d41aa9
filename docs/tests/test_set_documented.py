"""What pages name for `--set` of a command is what the command takes."""

import re

import pytest
from support.pages import PAGES, ROOT
from support.settable_names import FOUND, known
from support.size import options

TAKING_SET = [name for name, command in FOUND.items() if any("--set" in each.opts for each in options(command))]


def named_in_commands(page):
    """Yield (command, name) of each `hubless COMMAND … --set NAME=` of a page, in blocks and within sentences."""
    text = page.read_text("utf-8").replace("\\\n", " ")
    for command in TAKING_SET:
        for words in re.findall(rf"(?:hubless|`) ?{command} ([^\n`]*)", text):
            yield from ((command, name) for name in re.findall(r"--set ([a-z]\w*)[=.]", words))


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_commands_of_a_page_set_what_they_take(page):
    wrong = [(command, name) for command, name in named_in_commands(page) if name not in known(command)]
    assert wrong == []


@pytest.mark.parametrize("command", TAKING_SET)
def test_section_of_a_command_names_what_set_takes(command):
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    sections = " ".join(re.findall(rf"(?ms)^##+ {command}$(.*?)(?=^## |^### |\Z)", text))
    named = set(re.findall(r"`(?:--set )?(\w+)(?:\.\w+)?=", sections))
    assert named - known(command) == set()


@pytest.mark.parametrize("command", TAKING_SET)
def test_help_of_a_command_names_what_set_takes(command):
    assert set(re.findall(r"(?<!\.)\b([a-z]\w*)(?:\.\w+)?=", FOUND[command].help)) - known(command) == set()
