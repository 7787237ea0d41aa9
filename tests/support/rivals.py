"""Clients of real servers that all write to the same points, and the history of what they were told.

It must be possible, however servers and merges were killed: see `support.history`.
"""

import random
import threading
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx
import numpy as np
import pyarrow as pa
from support.history import Attempt, History, Value, payload_of, request_of, taken, unit, vector

import hubless
from hubless.vectors.sources import ArrayVectors

NAME = "photos"
IDS = [f"p{number}" for number in range(10)]
FIRST = IDS[:5]
BANK = [str(number) for number in range(12)]
K = 2


def asked(keys):
    """A query bank: the vectors of some keys, whose tenants take turns."""
    return pa.table({"vector": [vector(key) for key in keys], "tenant": ["ab"[row % 2] for row in range(len(keys))]})


def build(catalog, first=FIRST, index="flat", **more):
    """The collection that the clients write to, and its history."""
    options = {"correction": "csls", "parameters": {"k": K}, "index": index, **more}
    payload = [payload_of(each) for each in first]
    targets = np.array([vector(key) for key in first], np.float32)
    hubless.build(catalog, NAME, targets, asked(BANK), ids=first, payload=payload, **options)
    return History({wanted: Value(wanted, wanted, 0) for wanted in first})


_ACTIVATED = 0.1
"""Of the turns of a client."""
_FEW = 30
"""Writes until a kill, at most."""
KINDS = ("put", "if match", "insert", "patch", "delete", "delete title")


class Rival:
    """A client. It also scrolls, a page at a time, by whichever server it has found, also after a kill.

    `versions_change` says that versions are activated: then clients do so too, and a cursor may expire.
    """

    def __init__(self, number, history, kinds=KINDS, *, versions_change=False):
        self.writes = self.activated = self.expired = 0  # how many it sent, and had
        self._name, self._history, self._kinds = f"c{number}", history, kinds
        self._rng = random.Random(number)  # noqa: S311
        self._versions_change = versions_change
        self._scroll = None

    def work(self, urls, ending):
        """Write and read until the end, with a new connection for each that breaks."""
        while not ending.is_set():
            try:
                with httpx.Client(base_url=of_photos(self._rng.choice(urls)), timeout=120) as http:
                    while not ending.is_set():
                        self._write(http)
                        self._read(http)
                        self._turn_page(http)
                        if self._versions_change and self._rng.random() < _ACTIVATED:
                            self._activate(http)
            except httpx.TransportError:
                ending.wait(0.01)  # the attempt is open: nobody knows what came of it

    def _write(self, http):
        attempt = self._attempt(http)
        self._history.begin(attempt)
        method, path, body, headers = request_of(attempt)
        try:
            answer = http.request(method, path, json=body, headers=headers)
        except httpx.ConnectError:  # nobody was there to get it
            self._history.forget(attempt)
            raise
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
        asked = {"min_seq": low} if self._rng.random() < 0.3 else {}  # any read has what was answered before
        if self._rng.random() < 0.3:
            counted = _right(http.post("/count", json=asked)).json()["count"]
            history.saw(low, history.most, len, counted)
        else:
            wanted = self._rng.sample(IDS, 4)
            asked |= {"ids": wanted, "with": ["payload", "vector"]}
            found = _right(http.post("/points", json=asked)).json()["points"]
            history.saw(low, history.most, lambda state: taken(state, wanted), history.values(found))

    def _turn_page(self, http):
        """Take the next page of a scroll, or the first."""
        history = self._history
        low, ids, cursor = self._scroll or (history.last, [], None)
        answer = http.post("/scroll", json={"limit": self._rng.choice([1, 2, 4]), "cursor": cursor})
        if self._versions_change and answer.status_code == httpx.codes.GONE:
            self.expired += 1
            self._scroll = None
            return
        page = _right(answer).json()
        ids = [*ids, *(point["id"] for point in page["points"])]
        self._scroll = low, ids, page["cursor"]
        if page["cursor"] is None:
            history.scrolled(low, history.most, ids)
            self._scroll = None

    def _activate(self, http):
        versions = _right(http.get("/versions")).json()["versions"]
        answer = http.post(f"/versions/{self._rng.choice(versions)['version']}/activate")
        if answer.status_code != httpx.codes.NOT_FOUND:  # unless a merge has pruned it
            _right(answer)
            self.activated += 1


def of_photos(url):
    return f"{url}/v1/collections/{NAME}"


def _right(answer):
    """An answer. One that a server could not give in time is as good as none."""
    if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE and answer.json()["code"] == "not_ready":
        raise httpx.TransportError(answer.text)
    assert answer.is_success, answer.text
    return answer


class Work(NamedTuple):
    """Clients at work, and their futures."""

    rivals: list[Any]
    futures: list[Future]

    def wait(self, rng, seconds):
        """Wait for some seconds at most, drawn at random, and then until a few more writes were sent."""
        threading.Event().wait(rng.uniform(0, seconds))
        enough = self._count() + rng.randint(1, _FEW)
        while self._count() < enough and not any(each.done() for each in self.futures):
            threading.Event().wait(0.001)

    def _count(self):
        return sum(rival.writes for rival in self.rivals)


@contextmanager
def at_work(rivals, urls):
    """The clients work until the block ends, which has to kill the servers for those that wait for them."""
    ending = threading.Event()
    with ThreadPoolExecutor(len(rivals)) as pool:
        found = Work(rivals, [pool.submit(rival.work, urls, ending) for rival in rivals])
        try:
            yield found
        finally:
            ending.set()
        for each in found.futures:
            each.result()


def all_points(http, last):
    """All points with a write in them, in pages."""
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
            return found


def settle(catalog, history, url):
    """Compare all that there is with the history, when nobody writes; and what is found with all that there is."""
    history.merged |= {version.manifest.log_seq for version in hubless.Catalog(catalog).versions(NAME)}
    with httpx.Client(base_url=of_photos(url), timeout=120) as http:

        def ask(path, **body):
            return http.post(path, json=body).raise_for_status().json()

        last = ask("/points/delete", ids=["nobody"])["seq"]
        found = all_points(http, last)
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
