import re
from pathlib import Path

import pytest
from support.pages import PAGES
from support.printed import commands

from hubless.knn import INDEXES

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "\n".join(page.read_text("utf-8") for page in PAGES)

ADDED_BY_TYPER = {"help", "install_completion", "show_completion"}


FOUND = commands()


OPTION = r"(\[?)(--[a-z-]+)(?: ([^\s\[\]]+))?\]?(\.\.\.)?"


def documented(command):
    """Option -> whether it is required, its default or the name of its value, and whether it is repeatable."""
    [synopsis] = re.findall(rf"(?ms)^```text\nhubless {command} (.*?)^```", PAGE)
    return {
        name: (not optional, value or None, bool(repeated))
        for optional, name, value, repeated in re.findall(OPTION, synopsis)
    }


def real(command):
    """The same, of the command itself."""
    options = [
        option
        for option in FOUND[command].params
        if option.param_type_name == "option" and option.name not in ADDED_BY_TYPER
    ]
    return {
        option.opts[0]: (
            option.required,
            option.metavar if option.default is None or option.default is False else str(option.default),
            option.multiple,
        )
        for option in options
    }


def test_every_command_is_documented_and_no_other():
    synopses = re.findall(r"(?m)^```text\nhubless ([a-z -]+) ", re.sub(r" --.*", " ", PAGE))
    assert sorted(synopses) == sorted(FOUND)


@pytest.mark.parametrize("command", FOUND)
def test_synopsis_of_a_command_has_its_options_and_defaults(command):
    assert documented(command) == real(command)


@pytest.mark.parametrize("command", FOUND)
def test_help_explains_every_option_of_a_command(command):
    assert [option.name for option in FOUND[command].params if not option.help] == []


def test_kinds_of_index_that_build_takes_are_on_their_page():
    assert {f"`{name}`" for name in INDEXES} <= set(re.findall(r"`[^`]+`", (DOCS / "indexes.md").read_text()))
