import json
import re
import signal
import subprocess
import sys

import httpx
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
    assert (ended.code, ended.err) == (0, "")
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


def test_serve_prints_its_address_for_the_program_that_started_it(prepared):
    command = [sys.executable, "-m", "hubless", "serve", *map(str, words("list", prepared)), "--port", "0", "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        said = json.loads(server.stdout.readline())
        assert said["url"] == f"http://127.0.0.1:{said['port']}"
        assert said["pid"] == server.pid
        assert httpx.get(f"{said['url']}/livez", trust_env=False, timeout=60).status_code == 200
    finally:
        server.send_signal(signal.SIGTERM)
        rest, _ = server.communicate()
    assert rest == ""
