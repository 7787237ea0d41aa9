"""Clients of real servers that change and read the names of a catalog, and its restored backups.

What they were told must be possible, however servers were killed: see `support.catalog_history`.
"""

import random
from contextlib import ExitStack

import httpx
import numpy as np
from support.catalog_history import ANY, DONE, NONE, THERE, UNSEEN, Attempt, CatalogHistory, Held, Stands, State
from support.history import Wrong

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
_DIM = 4
NEW = {"dim": _DIM, "metric": "cosine", "id_type": "string"}
MARKED = "marked"
LATE = 503, 504
_REFUSED = {404, 409, 412, 428}
_WEIGHTS = {"put alias": 5, "delete alias": 2, "create": 3, "delete": 2, "mark": 3, "activate": 2}


def build(catalog, other):
    """The collection with versions, beside another one that stays. Return the history of all names."""
    rng = np.random.default_rng(0)
    for _ in range(2):
        hubless.build(catalog, SONGS, rng.normal(size=(20, _DIM)).astype(np.float32), correction="none")
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
                    self._see_alias(alias)
                    self._see_by_alias(alias)
                    self._query(alias)
                for name in BRIEF:
                    self._see_collection(name)
                    self._see_mark(name)
                self._see_versions()
                self._list_aliases()
                self._list_collections()
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
                history.read(began, "read mark", name, _mark(marked))

    def _connected(self, urls):
        opened = ExitStack()
        self._https = [
            opened.enter_context(httpx.Client(base_url=f"{url}/v1", timeout=120))
            for url in urls
            for _ in range(_CONNECTIONS)
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
        return answer

    # changes

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
            stands = self._see_alias(alias)
            match = stands.revision if stands else NONE
        if kind == "delete alias":
            return Attempt(kind, alias, match=None if match == NONE else match)
        return Attempt(kind, alias, rng.choice([*BRIEF, SONGS, self._other]), match)

    def _send_change(self, attempt):
        history = self.history
        history.begin(attempt)
        try:
            answer = self._send(*self._request(attempt))
        except httpx.ConnectError:  # nobody was there to get it
            history.forget(attempt)
            raise
        document = answer.json()
        if not answer.is_success:
            if attempt.kind != "create":  # it may be deleted at once, before it is described
                history.answered(attempt, document["code"])
            return
        if "alias" in attempt.kind:
            told = stands_of(document)
        elif attempt.kind == "create":
            told = DONE if answer.status_code == httpx.codes.CREATED else THERE
            history.read(attempt.begin, "version", attempt.name, document["version"])
        else:
            told = DONE
        history.answered(attempt, told)

    def _request(self, attempt):
        name, value = attempt.name, attempt.value
        if attempt.match is None:
            headers = {}
        elif attempt.match == NONE:
            headers = {"If-None-Match": "*"}
        else:
            headers = {"If-Match": "*" if attempt.match == ANY else f'"{attempt.match}"'}
        if attempt.kind == "mark":
            point = {"id": MARKED, "vector": [1.0] * _DIM, "payload": {"title": value}}
            durability = self._rng.choice(["disk", "memory"])
            return "PUT", f"/collections/{name}/points", {"points": [point], "durability": durability}
        return {
            "put alias": ("PUT", f"/aliases/{name}", {"collection": value}, headers),
            "delete alias": ("DELETE", f"/aliases/{name}", None, headers),
            "create": ("PUT", f"/collections/{name}", NEW),
            "delete": ("DELETE", f"/collections/{name}?aliases={'true' if value else 'false'}"),
            "activate": ("POST", f"/collections/{name}/versions/{value}/activate"),
        }[attempt.kind]

    # reads

    def _read_any(self):
        rng = self._rng
        rng.choice(
            [
                lambda: self._see_alias(rng.choice(ALIASES)),
                lambda: self._see_by_alias(rng.choice(ALIASES)),
                lambda: self._query(rng.choice(ALIASES)),
                lambda: self._see_collection(rng.choice([*BRIEF, SONGS])),
                lambda: self._see_mark(rng.choice(BRIEF)),
                self._see_versions,
                self._list_aliases,
                self._list_collections,
            ]
        )()

    def _get(self, path):
        """The moment at which a request begins, and its answer."""
        return self.history.moment(), self._send("GET", path)

    def _see_alias(self, alias):
        began, answer = self._get(f"/aliases/{alias}")
        found = stands_of(answer.json()) if answer.is_success else None
        self.history.read(began, "alias", alias, found)
        return found

    def _list_aliases(self):
        began, answer = self._get("/aliases")
        found = {each["alias"]: stands_of(each) for each in answer.json()["aliases"]}
        for alias in ALIASES:
            self.history.read(began, "alias", alias, found.get(alias))

    def _list_collections(self):
        began, answer = self._get("/collections")
        found = {each["name"]: each["version"] for each in answer.json()["collections"]}
        for name in (*BRIEF, SONGS):
            self.history.read(began, "version", name, found.get(name))

    def _see_by_alias(self, alias):
        began, answer = self._get(f"/collections/{alias}")
        self._see_served(alias, began, answer, "name")

    def _query(self, alias):
        began = self.history.moment()
        answer = self._send("POST", f"/collections/{alias}/query", {"vector": [1.0] * _DIM})
        self._see_served(alias, began, answer, "collection")

    def _see_served(self, alias, began, answer, field):
        """An alias and a version are two reads: a worker takes changes of the two one after the other."""
        document = answer.json()
        name = document[field] if answer.is_success else None
        self.history.read(began, "stands", alias, name)
        if name not in (None, self._other):
            self.history.read(began, "version", name, document["version"])

    def _see_collection(self, name):
        began, answer = self._get(f"/collections/{name}")
        self.history.read(began, "version", name, answer.json()["version"] if answer.is_success else None)

    def _see_versions(self):
        began, answer = self._get(f"/collections/{SONGS}/versions")
        for each in answer.json()["versions"]:
            if each["state"] == "served":
                self.history.read(began, "version", SONGS, each["version"])

    def _see_mark(self, name):
        began, answer = self._get(f"/collections/{name}/points/{MARKED}")
        self.history.read(began, "read mark", name, _mark(answer))
        missing = not answer.is_success and answer.json()["code"] == "collection_not_found"
        self.history.read(began, "there", name, not missing)


def stands_of(document):
    return Stands(document["collection"], int(document["etag"].strip('"')))


def _mark(answer):
    return answer.json()["payload"]["title"] if answer.is_success else None
