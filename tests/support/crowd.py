"""Clients that write and read a collection while servers die, each with a model of what it was told."""

import random
import threading
import zlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import httpx
import numpy as np
from support import small, writing

COUNT = 3
_MOST = 60
"""Points of a client from which on it deletes more than it puts."""


class NotReady(httpx.TransportError):
    """No worker has loaded the collection yet: as good as no server."""


class Client:
    """Writes and reads points of its own, one request after another.

    Attributes
    ----------
    stored : id → (vector as it is compared, payload): what it must find
    doubt : the same for what a write would change whose answer never came, None for a point that it deletes
    writes, refused : how many writes it sent, and how many the disk refused
    """

    def __init__(self, number, stored):
        self.name = f"client-{number}"
        self.stored = stored
        self.doubt = {}
        self.writes = self.refused = 0
        self._rng = random.Random(number)  # noqa: S311
        self._titles = [f"{self.name} writes {each}" for each in range(5)]
        self._seq = 0

    def work(self, url, ending):
        """Write and read until the end, over another connection whenever one breaks."""
        while not ending.is_set():
            with suppress(httpx.TransportError), httpx.Client(base_url=url, timeout=60) as http:
                self.settle(http)
                while not ending.is_set():
                    self._write(http)
                    self._read(http)

    def settle(self, http):
        """Find out what came of the write in doubt: all of it or nothing."""
        if not self.doubt:
            return
        # it is numbered after that write, if that is in the log, and changes nothing
        self._seq = _ok(http.post("/points/delete", json={"ids": ["nobody"]}))["seq"]
        found = self._points(http, self.doubt)
        before = {wanted: self.stored.get(wanted) for wanted in self.doubt}
        if not _same(found, before):
            assert _same(found, self.doubt), f"half a write: {found}, before {before}, after {self.doubt}"
            self._apply()
        self.doubt = {}

    def _write(self, http):
        self.writes += 1
        method, path, body, self.doubt = self._next()
        answer = http.request(method, path, json=body)
        if answer.status_code != 200 and answer.json().get("code") == "storage":
            self.refused += 1
        else:
            self._seq = _ok(answer)["seq"]
            self._apply()
        self.doubt, changed = {}, self.doubt
        assert _same(self._points(http, changed), {wanted: self.stored.get(wanted) for wanted in changed})

    def _apply(self):
        for wanted, state in self.doubt.items():
            self.stored.pop(wanted, None)
            if state is not None:
                self.stored[wanted] = state

    def _next(self):
        """Method, path and body of a write, and what it changes."""
        rng, there = self._rng, sorted(self.stored)
        weights = [2, 3, 2, 3] if len(there) > _MOST else [6, 3, 2, 1]
        kind = rng.choices(["put", "patch", "delete", "delete matches"], weights)[0] if there else "put"
        some = rng.sample(there, min(len(there), rng.randint(1, 3)))
        title = rng.choice(self._titles)
        if kind == "put":
            wanted = [f"{self.name}-{self.writes}-{each}" for each in range(rng.randint(1, 4))] + some[1:]
            seeds = [zlib.crc32(f"{each} {self.writes}".encode()) for each in wanted]
            points = [writing.point(each, seed, title=title) for each, seed in zip(wanted, seeds, strict=True)]
            changed = {}
            writing.put(changed, *points)
            return "PUT", "/points", {"points": points}, changed
        if kind == "patch":
            changed = {each: (self.stored[each][0], {**self.stored[each][1], "title": title}) for each in some}
            points = [{"id": each, "payload": {"title": title}} for each in some]
            return "PATCH", "/points", {"points": points}, changed
        if kind == "delete":
            return "POST", "/points/delete", {"ids": some}, dict.fromkeys(some)
        return "POST", "/points/delete", {"filter": _of(title)}, dict.fromkeys(self._titled(title))

    def _read(self, http):
        """What the collection says of the points of a title is what was stored."""
        title, seq = self._rng.choice(self._titles), {"min_seq": self._seq}
        expected = self._titled(title)
        vector = np.random.default_rng(self.writes).normal(size=small.DIM).tolist()
        way = self._rng.choice(["count", "scroll", "query", "query without a filter"])
        if way == "count":
            assert _ok(http.post("/count", json={"filter": _of(title), **seq}))["count"] == len(expected)
        elif way == "scroll":
            pages = writing.scrolled(http, limit=50, filter=_of(title), **seq)
            assert {each["id"] for each in pages} == expected
        elif way == "query":
            asked = {"vector": vector, "filter": _of(title), "limit": 200}
            assert sorted(each["id"] for each in _ok(http.post("/query", json=asked | seq))["hits"]) == sorted(expected)
        else:
            hits = _ok(http.post("/query", json={"vector": vector, "limit": 50, **seq}))["hits"]
            assert len({each["id"] for each in hits}) == len(hits)
            assert {each["id"] for each in hits if each["id"].startswith(f"{self.name}-")} <= self.stored.keys()

    def _titled(self, title):
        return {wanted for wanted, (_, payload) in self.stored.items() if payload["title"] == title}

    def _points(self, http, wanted):
        if not wanted:
            return {}
        asked = {"ids": list(wanted), "with": ["payload", "vector"], "min_seq": self._seq}
        found = {each["id"]: each for each in _ok(http.post("/points", json=asked))["points"]}
        return {each: (found[each]["vector"], found[each]["payload"]) if each in found else None for each in wanted}


def crowd():
    """Some clients, to each of which a part of the first points belongs; and the points that belong to nobody."""
    parts, nobodys = [{} for _ in range(COUNT)], writing.model()
    for number, wanted in enumerate([each for each in nobodys if each.startswith("target-")]):
        parts[number % COUNT][wanted] = nobodys.pop(wanted)
    return [Client(number, part) for number, part in enumerate(parts)], nobodys


@dataclass(frozen=True)
class Crowd:
    """Clients at work, and their futures."""

    clients: Sequence[Client]
    working: Sequence[Future]

    def wait(self, rng, seconds, of="writes"):
        """Wait for some seconds at most, drawn at random, and then until one more write was sent, or was refused."""
        threading.Event().wait(rng.uniform(0, seconds))
        before = self._count(of)
        while self._count(of) == before and not any(each.done() for each in self.working):
            threading.Event().wait(0.001)

    def _count(self, of):
        return sum(getattr(client, of) for client in self.clients)


@contextmanager
def at_work(clients, url):
    """The clients work until the block ends. It has to kill the server, or they end after their requests."""
    ending = threading.Event()
    with ThreadPoolExecutor(len(clients)) as pool:
        found = Crowd(clients, [pool.submit(client.work, url, ending) for client in clients])
        try:
            yield found
        finally:
            ending.set()
            for each in found.working:
                each.result()


def check(url, clients, nobodys, correction):
    """Fail unless the server has what the clients were told, once, and nothing else."""
    with httpx.Client(base_url=url, timeout=60) as http:
        stored = dict(nobodys)
        for client in clients:
            client.settle(http)
            stored |= client.stored
        writing.check(http, stored, correction, page=100)


def _of(title):
    return {"field": "title", "eq": title}


def _ok(answer):
    if answer.status_code == 503 and answer.json()["code"] == "not_ready":
        raise NotReady(answer.text)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _same(found, expected):
    return all(
        (found[wanted] is None) == (state is None)
        and (state is None or (found[wanted][1] == state[1] and np.allclose(found[wanted][0], state[0], atol=1e-5)))
        for wanted, state in expected.items()
    )
