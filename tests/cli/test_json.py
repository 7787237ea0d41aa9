import json
import re

import pytest
from support.printed import COMMANDS, WORDS, words


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_json_and_shows_no_type_of_a_flag(run, command):
    shown = run(*command.split(), "--help").out
    assert re.search(r"(?m)^ +--json +Print ", shown)
    assert "<bool>" not in shown


@pytest.mark.parametrize("command", WORDS)
def test_json_is_one_document_and_all_that_is_printed(run, command, prepared):
    ended = run(*command.split(), *words(command, prepared), "--json")
    asked = re.sub(r"(note|warning): .*labelled queries.* would tell.*\.\n", "", ended.err)
    assert (ended.code, asked) == (0, "")
    assert isinstance(json.loads(ended.out), dict)


def test_delete_asks_first_and_refuses_while_aliases_stand_for_it(run, prepared):
    where = words("list", prepared)
    on = [*where, "--collection", "things"]
    run("alias", *where, "best", "things")
    assert run("delete", *on).code == 1  # nobody answers
    refused = run("delete", *on, "--yes")
    assert (refused.code, "best" in refused.err) == (1, True)
    run("alias", *where, "best", "--remove")
    assert run("delete", *on, "--yes", "--json").json == {"collection": "things"}
    assert run("list", *where, "--json").json == {}
    assert run("delete", *on, "--yes").code == 1


@pytest.mark.parametrize(("columns", "most"), [("80", 80), (None, 100), ("500", 200)])
def test_tables_are_as_wide_as_asked_100_without_a_terminal_and_never_over_200(
    run, prepared, monkeypatch, columns, most
):
    if columns is None:
        monkeypatch.delenv("COLUMNS")
    else:
        monkeypatch.setenv("COLUMNS", columns)
    lines = run("inspect", *words("inspect", prepared)).out.splitlines()
    assert max(map(len, lines)) <= most
