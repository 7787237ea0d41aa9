"""Clients of real servers that all write to the same points, and the history of what they were told.

It must be possible, however servers and merges were killed: see `support.history`.
"""

import random
import threading
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import httpx
import numpy as np
from support.history import Attempt, History, Value, request_of, taken, unit, vector

import hubless
from hubless.vectors.sources import ArrayVectors

NAME = "photos"
IDS = [f"p{number}" for number in range(10)]
FIRST = IDS[:5]


def build(catalog, first=FIRST):
    """The collection that the clients write to, and its history."""
    targets, bank = [np.array([vector(key) for key in keys], np.float32) for keys in (first, map(str, range(12)))]
    options = {"correction": "csls", "parameters": {"k": 2}, "index": "flat"}
    payload = [{"title": each} for each in first]
    hubless.build(catalog, NAME, targets, bank, ids=first, payload=payload, **options)
    return History({wanted: Value(wanted, wanted, 0) for wanted in first})


KINDS = ("put", "if match", "insert", "patch", "delete", "delete title")


class Rival:
    def __init__(self, number, history, kinds=KINDS):
        self.writes = 0  # how many it sent
        self._name, self._history, self._kinds = f"c{number}", history, kinds
        self._rng = random.Random(number)  # noqa: S311

    def work(self, url, ending):
        """Write and read until the end, or until the connection breaks."""
        try:
            with httpx.Client(base_url=url, timeout=120) as http:
                while not ending.is_set():
                    self._write(http)
                    self._read(http)
        except httpx.TransportError:
            pass  # the attempt is open: nobody knows what came of it

    def _write(self, http):
        attempt = self._attempt(http)
        self._history.begin(attempt)
        method, path, body, headers = request_of(attempt)
        answer = http.request(method, path, json=body, headers=headers)
        code = answer.json().get("code")
        if code == "not_ready":  # then nothing of it is there
            self._history.forget(attempt)
            raise httpx.TransportError(answer.text)
        self._history.answered(attempt, answer.status_code, answer.json())

    def _attempt(self, http):
        self.writes += 1
        rng, title = self._rng, f"{self._name}-{self.writes}"
        chosen = rng.sample(IDS, rng.choice([1, 1, 2, 3]))
        kind, durable = rng.choice(self._kinds), rng.random() < 0.8
        if kind == "delete title":
            titles = [value.title for value in self._history.states[max(self._history.states)].values()]
            return Attempt(kind, [], rng.choice([title, *titles]), durable=durable)
        if kind in ("patch", "delete"):
            return Attempt(kind, [(wanted, None) for wanted in chosen], title, durable=durable)
        if kind == "if match":
            answer = http.get(f"/points/{chosen[0]}")
            seq = int(answer.headers["etag"].strip('"')) if answer.status_code == 200 else 10**9
            return Attempt("put", [(chosen[0], f"{chosen[0]} {title}")], title, seq, durable=durable)
        return Attempt(kind, [(wanted, f"{wanted} {title}") for wanted in chosen], title, durable=durable)

    def _read(self, http):
        history, low = self._history, self._history.last
        if self._rng.random() < 0.3:
            counted = http.post("/count", json={"min_seq": low}).raise_for_status().json()["count"]
            history.saw(low, history.most, len, counted)
        else:
            wanted = self._rng.sample(IDS, 4)
            asked = {"ids": wanted, "with": ["payload", "vector"], "min_seq": low}
            found = http.post("/points", json=asked).raise_for_status().json()["points"]
            history.saw(low, history.most, lambda state: taken(state, wanted), history.values(found))


class Work(NamedTuple):
    """Clients at work, and their futures."""

    rivals: list[Rival]
    futures: list[Future]

    def wait(self, rng, seconds):
        """Wait for some seconds at most, drawn at random, and then until one more write was sent."""
        threading.Event().wait(rng.uniform(0, seconds))
        before = self._count()
        while self._count() == before and not any(each.done() for each in self.futures):
            threading.Event().wait(0.001)

    def _count(self):
        return sum(rival.writes for rival in self.rivals)


@contextmanager
def at_work(rivals, url):
    """The clients work until the block ends, which has to kill a server for those that wait for it."""
    ending = threading.Event()
    with ThreadPoolExecutor(len(rivals)) as pool:
        found = Work(rivals, [pool.submit(rival.work, url, ending) for rival in rivals])
        try:
            yield found
        finally:
            ending.set()
        for each in found.futures:
            each.result()


def settle(catalog, history, url):
    """Compare all that there is with the history, when nobody writes; and what is found with all that there is."""
    history.merged |= {version.manifest.log_seq for version in hubless.Catalog(catalog).versions(NAME)}
    with httpx.Client(base_url=url, timeout=120) as http:

        def ask(path, **body):
            return http.post(path, json=body).raise_for_status().json()

        last = ask("/points/delete", ids=["nobody"])["seq"]
        found, cursor = [], None
        while True:
            body = {"limit": 4, "cursor": cursor, "min_seq": last, "with": ["payload", "vector"]}
            answer = http.post("/scroll", json=body)
            if answer.status_code == httpx.codes.GONE:  # a merge that was under way made a version
                found, cursor = [], None
                continue
            page = answer.raise_for_status().json()
            found += page["points"]
            if (cursor := page["cursor"]) is None:
                break
        assert ask("/count", min_seq=last)["count"] == len(found) == len({point["id"] for point in found})
        history.settle(last, history.values(found))
        if not found:
            return
        vectors = np.array([point["vector"] for point in found], np.float32)
        offsets = hubless.open(catalog, NAME).correction().offsets(ArrayVectors(vectors, "vectors"))
        np.testing.assert_allclose([point["offset"] for point in found], offsets, atol=1e-5)
        hits = ask("/query", vector=vector("asked"), limit=100)["hits"]
        ranked = np.argsort(offsets - vectors @ unit("asked"), kind="stable")
        assert [hit["id"] for hit in hits] == [found[row]["id"] for row in ranked]
        titles = Counter(point["payload"]["title"] for point in found)
        for title, count in titles.items():
            assert ask("/count", filter={"field": "title", "eq": title})["count"] == count
