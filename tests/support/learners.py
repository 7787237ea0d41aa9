"""Clients that ask many queries, and have a collection learn from them: `PUT bank {"sampled": N}`.

What they were told must be possible, however servers were killed: see `support.catalog_history`.
"""

import random
import time
from contextlib import ExitStack

import httpx
from support import hubs
from support.catalog_history import DONE, Attempt, Held
from support.clerks import LATE
from support.history import Wrong
from support.printed import write_sample

import hubless
from hubless.store.bank_order import read_order

NAME = "notes"
SIZES = (200, 300)
"""Live queries to wait for, so unlike that a bank tells which of them it was."""
_TARGETS, _HONEST, _, _ = hubs.with_victim(0)
_PEOPLE = [f"127.0.1.{number}" for number in range(1, 13)]
"""Addresses of clients: a client is known by its address, and counts for a tenth of a bank at most."""
_ASKED = 6
"""Queries of a batch."""


def build(catalog, sample, history):
    """The collection, without a correction, in the history of all names; people have asked all queries before."""
    hubless.build(catalog, NAME, _TARGETS, correction="none")
    # as the addresses of clients, which a service does not keep
    write_sample(sample, _HONEST, [each.encode() for each in _PEOPLE], NAME, time.time())
    version = hubless.Catalog(catalog).current(NAME)
    history.state = history.state.with_collection(NAME, Held(version))


class Learner:
    def __init__(self, number, history):
        self.writes = 0  # how many banks it put
        self.versions: set[str] = set()  # that it saw served, when no bank waited
        self._history, self._rng = history, random.Random(number)  # noqa: S311

    def work(self, urls, ending):
        """Ask, put banks and read until the end. A connection that breaks leaves its attempt open."""
        with ExitStack() as opened:
            people = [opened.enter_context(_person(self._rng.choice(urls), address)) for address in _PEOPLE]
            while not ending.is_set():
                try:
                    place = self._rng.randrange(len(people))
                    self._ask(people[place], _HONEST[place :: len(people)])
                    if self._rng.random() < 0.1:
                        self._put(people[place])
                    self._see(people[place])
                except httpx.TransportError:
                    ending.wait(0.01)

    def settle(self, urls):
        """Read the bank by all servers, when nobody else is at work."""
        for url in urls:
            with _person(url, _PEOPLE[0]) as http:
                self._see(http)

    def see_restored(self, began, catalog):
        """Read the bank of a restored backup, which was begun at a moment."""
        order = read_order(catalog / NAME)
        manifest = hubless.open(catalog, NAME).manifest
        bank = manifest.bank.queries if manifest.bank else 0
        self._note(began, order and order.sampled, manifest.version, bank)

    def _ask(self, http, queries):
        asked = self._rng.sample(range(len(queries)), _ASKED)
        body = {"queries": [{"vector": queries[each].tolist(), "limit": 1} for each in asked]}
        found = _sent(http, "POST", "/query/batch", body).json()["results"]
        if not all(len(each["hits"]) == 1 for each in found):
            raise Wrong(f"queries found nothing: {found}")

    def _put(self, http):
        self.writes += 1
        attempt = Attempt("put bank", NAME, self._rng.choice(SIZES))
        self._history.begin(attempt)
        try:
            _sent(http, "PUT", "/bank", {"sampled": attempt.value})
        except httpx.ConnectError:  # nobody was there to get it
            self._history.forget(attempt)
            raise
        self._history.answered(attempt, DONE)

    def _see(self, http):
        began = self._history.moment()
        told = _sent(http, "GET", "/bank").json()
        work = told["work"] or {}
        refused = work["began"] if (work.get("work"), work.get("state")) == ("bank", "failed") else None
        self._note(began, told["waiting"] and told["waiting"]["sampled"], told["version"], told["queries"], refused)

    def _note(self, began, waiting, version, queries, refused=None):
        """While a bank waits, it may be fitted already: only then is it known which version has it.

        A bank that the service finds no better than the one before is refused, and waits no more.
        """
        fits = [size for size in SIZES if 0.5 * size < queries < 0.85 * size]
        if waiting is None and queries and not fits:
            raise Wrong(f"a bank of {queries} queries is of none of {SIZES}")
        if waiting is None:
            self.versions.add(version)
        self._history.read(began, "bank", NAME, waiting if waiting else (version, frozenset(fits), refused))


def _person(url, address):
    transport = httpx.HTTPTransport(local_address=address)
    return httpx.Client(base_url=f"{url}/v1/collections/{NAME}", transport=transport, timeout=120)


def _sent(http, method, path, body=None):
    answer = http.request(method, path, json=body)
    if answer.status_code in LATE and answer.json()["code"] in ("not_ready", "deadline_exceeded"):
        raise httpx.TransportError(answer.text)
    if not answer.is_success:
        raise Wrong(f"{method} {path} {body} was answered with {answer.status_code}: {answer.text}")
    return answer
