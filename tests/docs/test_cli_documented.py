import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import typer

from hubless.cli import COMMANDS, app
from hubless.corrections import CORRECTIONS
from hubless.knn import INDEXES

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()

ADDED_BY_TYPER = {"help", "install_completion", "show_completion"}


def commands():
    """Name -> command, those of the library and those that its entry points add."""
    found = dict(typer.main.get_command(app).commands)
    for added in entry_points(group=COMMANDS):
        alone = typer.Typer()
        alone.command(added.name)(added.load())
        found[added.name] = typer.main.get_command(alone)
    return found


FOUND = commands()


def documented(command):
    """Option -> what the page says is its default."""
    body = re.search(rf"(?ms)^## {command}$(.*?)(?=^## |\Z)", PAGE).group(1)
    return dict(re.findall(r"(?m)^\| `(--[a-z-]+)` \|.*\| ([^|]*?) ?\|$", body))


def real(command):
    """Option -> its default, as the page writes it."""
    defaults = {}
    for option in FOUND[command].params:
        if option.param_type_name == "option" and option.name not in ADDED_BY_TYPER:
            without = option.default is None or option.default is False
            unwritten = "required" if option.required else ""
            defaults[option.opts[0]] = unwritten if without or option.required else f"`{option.default}`"
    return defaults


def test_every_command_is_documented_and_no_other():
    assert set(re.findall(r"(?m)^## (.+)$", PAGE)) == set(FOUND)


@pytest.mark.parametrize("command", FOUND)
def test_options_and_defaults_of_a_command_are_as_documented(command):
    assert documented(command) == real(command)


@pytest.mark.parametrize(("option", "names"), [("--correction", CORRECTIONS), ("--index", ["auto", *INDEXES])])
def test_names_that_an_option_takes_are_all_documented(option, names):
    row, *_ = re.findall(rf"(?m)^\| `{option}` .*$", PAGE)
    assert {f"`{name}`" for name in names} <= set(re.findall(r"`[^`]+`", row))
