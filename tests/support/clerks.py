"""Clients of real servers that change and read the names of a catalog, and its restored backups.

What they were told must be possible, however servers were killed: see `support.catalog_history`.
"""

import random
from contextlib import ExitStack

import httpx
import numpy as np
from support.catalog_history import ANY, NONE, UNSEEN, Attempt, CatalogHistory, Held, Stands, State
from support.history import Wrong
from support.naming import MARKED, NEW, Reader, request_of, told_of

import hubless

ALIASES = ("a0", "a1", "a2")
BRIEF = ("brief0", "brief1")
"""Collections that are created and deleted."""
SONGS = "songs"
"""A collection of two versions, one of which is activated again and again."""
_PROBE = "probe"
"""An alias whose revision tells how often any alias was changed."""
_CONNECTIONS = 3
"""To each server, as a connection is always answered by the same worker."""
LATE = 503, 504
_REFUSED = {404, 409, 412, 428}
_WEIGHTS = {"put alias": 5, "delete alias": 2, "create": 3, "delete": 2, "mark": 3, "activate": 2}


def build(catalog, other):
    """The collection with versions, beside another one that stays. Return the history of all names."""
    rng = np.random.default_rng(0)
    for _ in range(2):
        hubless.build(catalog, SONGS, rng.normal(size=(20, NEW["dim"])).astype(np.float32), correction="none")
    current = hubless.Catalog(catalog).current(SONGS)
    return CatalogHistory(State({}, {SONGS: Held(current), other: Held(UNSEEN)}))


class Clerk:
    def __init__(self, number, history, catalog, other):
        self.writes = 0  # how many changes it sent
        self.history, self._other = history, other
        self._versions = hubless.Catalog(catalog).version_ids(SONGS)
        self._name, self._rng = f"k{number}", random.Random(number)  # noqa: S311
        self._https: list[httpx.Client] = []
        self._probed = False
        self._reader = Reader(history, self._send, other)

    def work(self, urls, ending):
        """Change and read until the end. A connection that breaks leaves its attempt open."""
        with self._connected(urls):
            while not ending.is_set():
                try:
                    self._send_change(self._attempt())
                    self._read_any()
                except httpx.TransportError:
                    ending.wait(0.01)

    def settle(self, urls):
        """Read all names through all connections, when nobody else is at work, and check all that was ever read."""
        with self._connected(urls):
            for http in list(self._https):
                self._https = [http]
                for alias in ALIASES:
                    self._reader.alias(alias)
                    self._reader.by_alias(alias)
                    self._reader.query(alias)
                for name in BRIEF:
                    self._reader.collection(name)
                    self._reader.mark(name)
                self._reader.versions(SONGS)
                self._reader.aliases(ALIASES)
                self._reader.collections((*BRIEF, SONGS))
            self._send_change(Attempt("put alias", _PROBE, self._other, ANY if self._probed else NONE))
            self._probed = True
        self.history.settle()

    def see_restored(self, began, catalog, url, unmade):
        """Read the names of a restored backup, which was begun at a moment.

        A creation that was killed left versions of the `unmade`, none of them current, and the backup took the last.
        """
        restored, history = hubless.Catalog(catalog), self.history
        there, aliases = restored.collections(), restored.aliases()
        for alias in ALIASES:
            if alias in aliases:
                history.read(began, "alias", alias, Stands(aliases[alias].collection, aliases[alias].revision))
            else:
                history.read(began, "stands elsewhere", alias, there)
        history.read(began, "version", SONGS, restored.current(SONGS))
        for name in (name for name in BRIEF if name not in unmade):
            history.read(began, "version", name, restored.current(name) if name in there else None)
            if name in there:
                marked = httpx.get(f"{url}/v1/collections/{name}/points/{MARKED}", timeout=120)
                found = marked.json()["payload"]["title"] if marked.is_success else None
                history.read(began, "read mark", name, found)

    def _connected(self, urls):
        opened = ExitStack()
        self._https = [
            opened.enter_context(httpx.Client(base_url=url, timeout=120)) for url in urls for _ in range(_CONNECTIONS)
        ]
        return opened

    def _send(self, method, path, body=None, headers=None):
        answer = self._rng.choice(self._https).request(method, path, json=body, headers=headers)
        if answer.status_code in LATE:  # it may be done all the same
            if (code := answer.json()["code"]) not in ("not_ready", "deadline_exceeded"):
                raise Wrong(f"{method} {path} {body} was answered with {code}: {answer.text}")
            raise httpx.TransportError(code)
        if not answer.is_success and answer.status_code not in _REFUSED:
            raise Wrong(f"{method} {path} {body} was answered with {answer.status_code}: {answer.text}")
        return answer.status_code, answer.json()

    def _attempt(self):
        rng = self._rng
        self.writes += 1
        [kind] = rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
        if kind == "activate":
            return Attempt(kind, SONGS, rng.choice(self._versions))
        if "alias" not in kind:
            value = {"mark": f"{self._name}-{self.writes}", "delete": rng.random() < 0.3}.get(kind)
            return Attempt(kind, rng.choice(BRIEF), value)
        alias, match = rng.choice(ALIASES), rng.choice([None, NONE, ANY, ANY, "etag", "etag"])
        if match == "etag":
            stands = self._reader.alias(alias)
            match = stands.revision if stands else NONE
        if kind == "delete alias":
            return Attempt(kind, alias, match=None if match == NONE else match)
        return Attempt(kind, alias, rng.choice([*BRIEF, SONGS, self._other]), match)

    def _send_change(self, attempt):
        history = self.history
        history.begin(attempt)
        try:
            status, document = self._send(*request_of(attempt, self._rng.choice(["disk", "memory"])))
        except httpx.ConnectError:  # nobody was there to get it
            history.forget(attempt)
            raise
        if attempt.kind == "create" and status >= 400:  # it may be deleted at once, before it is described
            return
        if attempt.kind == "create":
            history.read(attempt.begin, "version", attempt.name, document["version"])
        history.answered(attempt, told_of(attempt, status, document))

    def _read_any(self):
        rng, reader = self._rng, self._reader
        rng.choice(
            [
                lambda: reader.alias(rng.choice(ALIASES)),
                lambda: reader.by_alias(rng.choice(ALIASES)),
                lambda: reader.query(rng.choice(ALIASES)),
                lambda: reader.collection(rng.choice([*BRIEF, SONGS])),
                lambda: reader.mark(rng.choice(BRIEF)),
                lambda: reader.versions(SONGS),
                lambda: reader.aliases(ALIASES),
                lambda: reader.collections((*BRIEF, SONGS)),
            ]
        )()
