"""Editors and type checkers see the parameters and the results of both clients."""

from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).parents[2]
RIGHT = """
from collections.abc import AsyncIterator, Iterator
from typing import assert_type

from hubless_client import AsyncClient, BatchHits, Client, Health, Hit, Hits, Point

def sync(client: Client) -> None:
    assert_type(client.query("songs", [1.0], limit=3), Hits)
    assert_type(client.query("songs", text="sad")[0], Hit)
    assert_type(client.query_batch("songs", [[1.0]])[0][:2], tuple[Hit, ...])
    assert_type(client.scroll("songs"), Iterator[Point])
    assert_type(client.ready(), Health)

async def awaited(client: AsyncClient) -> None:
    assert_type(await client.query("songs", [1.0], limit=3), Hits)
    assert_type(await client.query_batch("songs", [[1.0]]), BatchHits)
    assert_type(client.scroll("songs"), AsyncIterator[Point])
    assert_type(await client.count("songs"), int)
"""
WRONG = """
from hubless_client import AsyncClient, Client

def sync(client: Client, other: AsyncClient) -> None:
    client.query("songs", [1.0], lmit=3)
    client.count(7)
    hits = other.query("songs", [1.0])
    hits[0]
"""


@pytest.fixture
def check(tmp_path, monkeypatch):
    """What mypy says about a program, with the project's settings."""
    monkeypatch.chdir(ROOT)  # the settings name folders relative to it

    def check(program):
        path = tmp_path / "program.py"
        path.write_text(program)
        out, err, status = api.run([str(path)])
        assert err == ""
        return out, status

    return check


def test_results_of_both_clients_have_their_types(check):
    assert check(RIGHT) == ("Success: no issues found in 1 source file\n", 0)


def test_wrong_arguments_and_a_forgotten_await_are_seen(check):
    out, status = check(WRONG)
    assert status == 1
    errors = [line for line in out.splitlines() if ": error: " in line]
    assert [line.rpartition("  ")[2] for line in errors] == ["[call-arg]", "[arg-type]", "[index]"]
