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


@pytest.mark.parametrize("command", FOUND)
def test_command_has_a_section_on_a_page(command):
    assert re.search(rf"(?m)^##+ {command}$", PAGE)


@pytest.mark.parametrize("command", FOUND)
def test_help_explains_every_option_of_a_command(command):
    assert [option.name for option in FOUND[command].params if not option.help] == []


def test_kinds_of_index_that_build_takes_are_on_their_page():
    assert {f"`{name}`" for name in INDEXES} <= set(re.findall(r"`[^`]+`", (DOCS / "indexes.md").read_text()))
