"""Scroll gives each target once, whichever process answers a page and however it came to its writes."""

from contextlib import ExitStack
from itertools import cycle

import httpx
import numpy as np
from support import small, writing
from support.server_process import served
from support.until import until
from support.writing import NAME, point

import hubless
from hubless.search.delta.overlay import place_of, row_from
from hubless.search.transaction import WritableCollection
from hubless.store.log import Log


def scrolled(clients, limit, page=None):
    """The ids of all pages, each asked from the next of some clients; those after a page, with its own."""
    found = [each["id"] for each in page["points"]] if page else []
    for client in cycle(clients):
        answer = client.post("/scroll", json={"limit": limit, "cursor": page and page["cursor"]})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found += [each["id"] for each in page["points"]]
        if page["cursor"] is None:
            return found
    return found


def write_again_and_again(client, count=40):
    """Targets that replace each other, so that how many ever came depends on who counts. Return which are there."""
    for number in range(count):
        points = [point(f"a-{number % 25}", number), point(f"b-{number * 7 % 25}", number)]
        client.put("/points", json={"points": points}).raise_for_status()
    client.post("/points/delete", json={"ids": ["a-3", "target-9"]}).raise_for_status()
    stored = {*small.IDS, *(f"a-{number % 25}" for number in range(count))}
    return stored.union(f"b-{number * 7 % 25}" for number in range(count)) - {"a-3", "target-9"}


def clients_of(server, count, stack):
    """Clients of one connection each: new connections fall to any worker."""
    address = f"{server.url}/v1/collections/{NAME}"
    return [stack.enter_context(httpx.Client(base_url=address, timeout=60)) for _ in range(count)]


def test_places_are_the_same_however_the_writes_were_grouped(tmp_path):
    writing.build(tmp_path)
    step, at_once = (
        WritableCollection(
            hubless.open(tmp_path, NAME, version=hubless.Catalog(tmp_path).current(NAME)), Log(tmp_path / NAME)
        )
        for _ in range(2)
    )
    with writing.writable(tmp_path) as client:
        for number in range(30):
            client.put("/points", json={"points": [point("a", number), point(f"b-{number}", number)]})
            step.catch_up()
    at_once.catch_up()
    one, other = step.current, at_once.current
    rows = np.arange(one.count)
    assert one.ids(rows) == other.ids(np.arange(other.count))
    places = [place_of(one.parts, row) for row in rows.tolist()]
    assert places == [place_of(other.parts, row) for row in rows.tolist()] == sorted(places)
    assert [row_from(other.parts, *place) for place in places] == rows.tolist()


def test_scroll_over_workers_and_a_restart_gives_each_target_once(tmp_path):
    workers = 2
    writing.build(tmp_path)
    with served(tmp_path, workers=workers) as server, ExitStack() as stack:
        server.wait_until_all_have_loaded(NAME, workers)
        clients = clients_of(server, 6, stack)
        for turn in range(4):
            stored = write_again_and_again(clients[turn])
            assert sorted(scrolled(clients, 3)) == sorted(stored)
        halfway = clients[0].post("/scroll", json={"limit": 45}).json()
    with served(tmp_path, workers=workers) as server, ExitStack() as stack:
        assert sorted(scrolled(clients_of(server, 6, stack), 3, halfway)) == sorted(stored)


def test_scroll_goes_on_after_another_version_was_served_for_a_while(tmp_path):
    first, second = writing.build(tmp_path), writing.build(tmp_path)
    catalog = hubless.Catalog(tmp_path)
    catalog.rollback(NAME, first.version)
    with writing.writable(tmp_path) as client:
        stored = write_again_and_again(client)
        halfway = client.post("/scroll", json={"limit": 50}).json()
        for version in (second.version, first.version):
            catalog.rollback(NAME, version)
            until(lambda version=version: client.post("/count").json()["version"] == version)
            if version == second.version:
                answer = client.post("/scroll", json={"cursor": halfway["cursor"]})
                assert (answer.status_code, answer.json()["code"]) == (410, "cursor_expired")
        assert sorted(scrolled([client], 7, halfway)) == sorted(stored)


def test_cursor_of_writes_that_are_not_there_any_more_is_told_so(tmp_path):
    writing.build(tmp_path)
    with writing.writable(tmp_path) as client:
        write_again_and_again(client, 10)
        cursor = client.post("/scroll", json={"limit": 5}).json()["cursor"]
    for left in (tmp_path / NAME).glob("log.sqlite*"):
        left.unlink()
    with writing.writable(tmp_path) as client:
        answer = client.post("/scroll", json={"limit": 5, "cursor": cursor})
    assert (answer.status_code, answer.json()["code"]) == (410, "cursor_expired")
