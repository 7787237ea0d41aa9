"""Clients of real servers that all write to the same points, and the history of what they were told."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import numpy as np
from support.history import Attempt, History, Value, request_of, taken, vector

import hubless

NAME = "photos"
IDS = [f"p{number}" for number in range(10)]
FIRST = IDS[:5]


def build(catalog):
    """The collection that the clients write to, and its history."""
    targets, bank = [np.array([vector(key) for key in keys], np.float32) for keys in (FIRST, map(str, range(12)))]
    options = {"correction": "csls", "parameters": {"k": 2}, "index": "flat", "progress": False}
    payload = [{"title": each} for each in FIRST]
    hubless.build(catalog, NAME, targets, bank, ids=FIRST, payload=payload, **options)
    return History({wanted: Value(wanted, wanted, 0) for wanted in FIRST})


class Rival:
    """A client that writes points that others write, too."""

    def __init__(self, number, history):
        self._name, self._history, self._count = f"c{number}", history, 0
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
        if answer.status_code == 503 and answer.json()["code"] == "not_ready":
            self._history.forget(attempt)
            raise httpx.TransportError(answer.text)
        self._history.answered(attempt, answer.status_code, answer.json())

    def _attempt(self, http):
        self._count += 1
        rng, title = self._rng, f"{self._name}-{self._count}"
        chosen = rng.sample(IDS, rng.choice([1, 1, 2, 3]))
        kind = rng.choices(["put", "if match", "insert", "patch", "delete"], [4, 4, 1, 2, 3])[0]
        durable = rng.random() < 0.8
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


@contextmanager
def at_work(rivals, url):
    """The clients work until the block ends, which has to kill a server for those that wait for it."""
    ending = threading.Event()
    with ThreadPoolExecutor(len(rivals)) as pool:
        working = [pool.submit(rival.work, url, ending) for rival in rivals]
        try:
            yield
        finally:
            ending.set()
        for each in working:
            each.result()


def settle(history, url):
    """Compare what there is with the history, when nobody writes."""
    with httpx.Client(base_url=url, timeout=120) as http:
        last = http.post("/points/delete", json={"ids": ["nobody"]}).raise_for_status().json()["seq"]
        found, cursor = [], None
        while True:
            asked = {"limit": 4, "cursor": cursor, "with": ["payload", "vector"], "min_seq": last}
            page = http.post("/scroll", json=asked).raise_for_status().json()
            found += page["points"]
            if (cursor := page["cursor"]) is None:
                break
        assert http.post("/count", json={"min_seq": last}).json()["count"] == len(found)
        history.settle(last, history.values(found))
