"""A catalog, its workers and its clients in one process, without sockets, threads or a clock; a seed says all.

The workers answer requests by the app of the service. What they write goes to a folder in memory, and a power cut
takes from it what was not synced. The history of what was answered must be possible: see `support.history`. Run by
`support.calls.run`, as

    simulation.py FOLDER FIRST COUNT
"""

import ast
import asyncio
import gc
import json
import logging
import os
import random
import shutil
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from errno import EIO
from functools import lru_cache
from pathlib import Path
from stat import S_ISDIR
from types import SimpleNamespace
from typing import Any, cast

import httpx
import numpy as np
from support import calls, rivals, small
from support.history import Attempt, History, Value, Wrong, number, payload_of, request_of, taken, unit

import hubless
from hubless.builder import shards
from hubless.builder.backup import back_up, restore
from hubless.builder.lifecycle import calibrate, compact, flush, merge, refit
from hubless.builder.pipeline import compaction
from hubless.errors import HublessError
from hubless.kernels import coupling, streaming, threads
from hubless.search.transaction import open_written
from hubless.search.writes import Put
from hubless.store import bank_order, bundle, catalog as catalogs, locks
from hubless.vectors.sources import ArrayVectors
from hubless_service.app import create_app
from hubless_service.searching.collection_sources import CatalogSource
from hubless_service.searching.log_follower import catch_up
from hubless_service.searching.search_service import SearchService
from hubless_service.searching.writer import Writer
from hubless_service.settings import Settings

NAME = rivals.NAME
WORKERS = 2
IDS = [f"p{number}" for number in range(12)]
FIRST = IDS[:6]
STEPS = 20
INDEX = {"index": "hnsw", "shard_targets": 8}
"""One that is trained, in one or two segments."""
COLUMN = "number"
KINDS: list[dict[str, Any]] = [
    {},
    {"fit_by": "tenant"},
    {"correction": "offsets", "parameters": {}, "offsets": COLUMN},
    {"correction": "offsets", "parameters": {}, "offsets": [number(each) for each in FIRST]},
    {"correction": "sn", "parameters": {}, "target_prior": COLUMN},
    {"correction": "sn", "parameters": {}, "target_prior": [number(each) for each in FIRST]},
]
"""What is known of targets besides, by a payload column or by an array. A seed takes one of them."""
MOST_ASKED = 4
"""Queries of a bank that is fitted later, or added."""
DUE = 0, 9, 9
"""Of the rows, how many may be gone or come behind until the index is trained anew."""
MERGE, COMPACTION = "merge", "compaction"
"""A merge, or a flush, keeps other jobs out; others change versions beside a compaction."""
KILLED = 0.15
"""Of the jobs, how many are to be killed."""
LABELLED = 20
_PAGE = 4096
_FOREVER = 1e9
_KEPT = 256
_COLLECTED = 10
"""Seeds between two collections of garbage: Python's own would take a sixth of the time."""


class Held:
    """A pool whose threads begin when somebody says so, in the thread of that."""

    def __init__(self):
        self.submitted = []

    def submit(self, work):
        self.submitted.append(work)

    def run(self):
        waiting, self.submitted = self.submitted, []
        for work in waiting:
            work()


_faulty = ContextVar("_faulty", default=False)


class PatientWriter(Writer):
    """It waits as long as it takes, and lets the writes of some requests turn out to be wrong."""

    async def write(self, trace, name, points, plan, deadline, *, durable=True):
        plan = faulty(plan) if _faulty.get() else plan
        return await super().write(trace, name, points, plan, time.perf_counter() + _FOREVER, durable=durable)


class Desk(SearchService):
    """An engine without threads: it answers at once, and writes what waits when `write_all` is called."""

    def __init__(self, source, settings):
        super().__init__(source, settings)
        self.writer = PatientWriter(self.shelf, 64, 100_000, lambda: None)
        self.writer._threads = self.held = Held()
        self._follower._openers = Here()
        self.freshness.wanted = SimpleNamespace(set=self.look)  # where its thread would be waited for
        self.on_look = lambda: None

    async def run(self, trace, work, collection=None):
        return work()

    def look(self):
        self.on_look()
        self._follower._look()

    def forget(self):
        """Know as little of the catalog as a new process."""
        self.freshness.seen = None
        self.shelf.keep([])

    def write_all(self):
        """Write what waits, in groups as they have come."""
        self.held.run()


def faulty(plan):
    """A plan whose write turns out to be wrong late: when its offset is computed."""

    def planned(transaction):
        write, document = plan(transaction)
        return Put(np.zeros((len(write.ids), 5), np.float32), write.ids, write.payload), document

    return planned


class Worker:
    """One of several workers that serve a catalog."""

    def __init__(self, path):
        settings = Settings(catalog=path, hubness=False)
        self.engine = Desk(CatalogSource(path), settings)
        self.app = httpx.ASGITransport(create_app(settings, self.engine))
        self.shelf = self.engine.shelf
        self.shelf.loading = False

    def look(self):
        """Take the current version, if it is another one, and the aliases."""
        self.engine.look()

    def follow(self):
        for living in self.shelf.living():
            if catch_up(living):
                self.look()

    def end(self):
        for living in self.shelf.living():
            living.log.close()
        self.engine.forget()

    async def answer(self, method, path, body=None, headers=None):
        """The status and the document that answer a request about the collection, or another path of the contract."""
        place = path if path.startswith("/v1") else f"/v1/collections/{NAME}{path}"
        request = httpx.Request(method, f"http://worker{place}", json=body, headers=headers)
        told = _faulty.set("x-faulty" in request.headers)
        try:
            answer = await self.app.handle_async_request(request)
            return answer.status_code, json.loads(await answer.aread())
        finally:
            _faulty.reset(told)


class Disk:
    """A folder in memory, and what of it would be left if the power were cut now. No inode is ever used again."""

    def __init__(self, root):
        self.root = root
        self._bytes: dict[int, bytes] = {}
        self._entries: dict[int, dict[str, int]] = {}
        self.left = 0  # calls until the machine stops; 0 for never
        self.on_strike = lambda: None
        self.dead = False

    def told(self, call, path, descriptor, size):
        """Note what is synced, and refuse all calls once the machine has stopped."""
        if not self.dead and self.left and not path.endswith("-shm"):
            self.left -= 1
            if not self.left:
                self.on_strike()
                self.dead = True
        if self.dead:
            return EIO
        if call == "fsync":
            self._sync(path, descriptor)
        return 0

    def sync_all(self):
        """Take all that there is for synced."""
        self._bytes, self._entries = {}, {}
        for folder, _, files in os.walk(self.root):
            self._entries[Path(folder).stat().st_ino] = _entries(folder)
            for name in files:
                with Path(folder, name).open("rb") as file:
                    self._bytes[os.fstat(file.fileno()).st_ino] = file.read()

    def cut_power(self, rng):
        """What is on the disk after a power cut: all that was synced, and of the rest as chance will have it."""
        tree: dict[str, bytes | None] = {}

        def walk(inode, path, now):
            known = self._entries.get(inode, {})
            current = _entries(now) if now is not None and now.is_dir() else {}
            entries = current if current and rng.random() < 0.5 else known
            for name, each in sorted(entries.items()):
                place = now / name if current.get(name) == each else inodes.get(each)
                if each in self._entries or (place is not None and place.is_dir()):
                    tree[f"{path}{name}"] = None
                    walk(each, f"{path}{name}/", place)
                elif not name.endswith("-shm"):
                    there = place.read_bytes() if place is not None else None
                    tree[f"{path}{name}"] = _torn(self._bytes.get(each, b""), there, rng)

        inodes = {}
        for folder, folders, files in os.walk(self.root):
            inodes |= {Path(folder, name).lstat().st_ino: Path(folder, name) for name in (*folders, *files)}
        walk(self.root.stat().st_ino, "", self.root)
        return tree

    def become(self, tree):
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir()
        for path, content in tree.items():
            if content is None:
                (self.root / path).mkdir()
            else:
                (self.root / path).write_bytes(content)
        self.sync_all()

    def _sync(self, path, descriptor):
        stat = os.fstat(descriptor)
        if S_ISDIR(stat.st_mode):
            self._entries[stat.st_ino] = _entries(path)
            for name, inode in self._entries[stat.st_ino].items():
                if Path(path, name).is_dir():  # empty, as long as it is not synced itself
                    self._entries.setdefault(inode, {})
            return
        try:
            self._bytes[stat.st_ino] = os.pread(descriptor, stat.st_size, 0)
        except OSError:  # opened for writing only; SQLite's files, whose locks a second opening would drop, are not
            self._bytes[stat.st_ino] = Path(path).read_bytes()


def _entries(folder):
    with os.scandir(folder) as found:
        return {entry.name: entry.inode() for entry in found}


def _torn(synced, there, rng):
    """Which bytes of a file are left: a file system tells its length as a whole, and each page that it has by itself.

    Where the end of a file was cut off and is there again, all of it is, as it was synced. A page is in its own place.
    """
    if there is None or there == synced:
        return synced
    chosen = rng.random()
    if chosen < 0.6:
        return synced if chosen < 0.3 else there
    length = rng.choice([len(synced), len(there)])
    sides = synced.ljust(length, b"\0"), there + synced[len(there) :]
    return b"".join(rng.choice(sides)[start : start + _PAGE] for start in range(0, length, _PAGE))[:length]


def tree_of(root):
    """All files below a folder with their bytes, and the folders with None."""
    found = {}
    for path in sorted(root.rglob("*")):
        found[str(path.relative_to(root))] = path.read_bytes() if path.is_file() else None
    return found


class Stopped(Exception):
    """The machine stopped while somebody waited for an answer."""


class World:
    def __init__(self, seed, stage):
        self.rng = random.Random(seed)  # noqa: S311
        self.disk, self.loop, self.workers = stage.disk, stage.loop, stage.workers
        self.done = stage.done
        self.path = stage.disk.root
        self.disk.dead, self.disk.left = False, 0
        kind = seed % len(KINDS)
        self.disk.become(stage.templates[kind])
        self.kind = KINDS[kind]
        self.banks = {0: rivals.BANK}  # the queries of each, by its order
        self.constants = {}  # of each fit, by tenant
        self.calibrated = set()  # versions with other numbers of confidence
        self.time = datetime(2030, 1, 1, tzinfo=UTC)
        modules: list[Any] = [catalogs, locks, bank_order]
        for module in modules:
            module.now = self.now
        self.history = History({wanted: Value(wanted, wanted, 0, built=True) for wanted in FIRST})
        self.scroll = None
        self.number = 0
        self.inside = None  # a merge, or a compaction
        self.doomed = False  # the job inside, which a call will end
        self.backup = None
        self.restored = False
        self.stopped_by_power = False
        self.stopped = None  # what is left of the disk, once the machine stopped
        self.current = set()  # each version that was since the last activation that was answered
        for worker in self.workers:
            worker.end()
            worker.engine.on_look = self.note_current
            worker.look()

    def now(self):
        """A clock that also goes back."""
        self.time += timedelta(seconds=self.rng.choice([1e-6, 1e-3, 5, 3600, -5, -86_400]))
        return self.time

    def play(self):
        """Do many things, and check what came of them."""
        for _ in range(STEPS):
            with suppress(Stopped):
                self.step()
            while self.disk.dead:
                with suppress(Stopped):
                    self.reboot()
        with suppress(Stopped):
            self.settle()

    def step(self):
        actions = {self.write: 10, self.page: 6, self.look_at: 5, self.follow: 4, self.look: 2}
        actions |= {self.look_at_version: 3}
        if self.inside != MERGE:
            actions |= {self.flush: 1.5, self.merge: 1, self.rollback: 0.7, self.prune: 0.7, self.kill_one: 0.7}
            actions |= {self.activate: 1, self.calibrate: 0.2}
            actions |= {} if "offsets" in self.kind else {self.refit: 0.7}
        if not self.inside:
            actions |= {self.compact: 2, self.stop: 1, self.copy: 0.3}
            actions |= {self.back_up: 0.5} if self.backup is None else {self.restore: 1.5}
        [action] = self.rng.choices(list(actions), list(actions.values()))
        self.done[action.__name__] += 1
        action()

    # what clients do

    def write(self):
        """Several clients write at once to one worker."""
        worker = self.rng.choice(self.workers)
        self.loop.run_until_complete(
            worker.engine.freshness.settle(None, NAME)
        )  # as the request would, which has to know
        attempts = [self.attempt() for _ in range(self.rng.choice([1, 1, 2, 3, 4]))]
        for attempt in attempts:
            self.history.begin(attempt)
        answers = self.ask_all(worker, attempts)
        behind = [self.is_behind(worker, document) for _, document in answers]
        if any(behind):
            self.disturb()
            worker.look()
        if self.disk.dead:
            return
        for attempt, (status, document), unseen in zip(attempts, answers, behind, strict=True):
            if unseen:
                self.history.forget(attempt)
            else:
                self.history.answered(attempt, status, document)

    def attempt(self):
        rng, state = self.rng, self.history.states[max(self.history.states)]
        self.number += 1
        title = f"t{self.number}"
        chosen = rng.sample(IDS, rng.choice([1, 1, 2, 3]))
        there = [wanted for wanted in chosen if wanted in state]
        kind = rng.choices(["put", "insert", "patch", "delete", "delete title"], [6, 1, 2, 3, 1])[0]
        if kind == "patch" and there:
            return Attempt(kind, [(wanted, None) for wanted in there], title, durable=rng.random() < 0.8)
        if kind == "delete title" and state:
            return Attempt(kind, [], rng.choice(sorted(state.values())).title)
        if kind == "delete":
            return Attempt(kind, [(wanted, None) for wanted in chosen], title, self.expected(chosen, state))
        points = [(wanted, f"{wanted} {title}") for wanted in chosen]
        kind, expected = ("insert", None) if kind == "insert" else ("put", self.expected(chosen, state))
        if rng.random() < 0.05 and "offsets" not in self.kind:
            # about a point of its own, so that no later write of the group hides it
            return Attempt("put", [(f"bad{self.number}", title)], title, faulty=True)
        return Attempt(kind, points, title, expected, durable=rng.random() < 0.8)

    def expected(self, chosen, state):
        if len(chosen) > 1 or chosen[0] not in state or self.rng.random() < 0.5:
            return None
        return state[chosen[0]].seq + self.rng.choice([0, 0, 0, 1])

    def ask_all(self, worker, attempts):
        return self.sent_together(worker, map(request_of, attempts))

    def sent(self, worker, *request):
        """The status and the document that answer a request, which may be a write."""
        return self.sent_together(worker, [request])[0]

    def sent_together(self, worker, requests):
        async def asked():
            tasks = [asyncio.create_task(worker.answer(*request)) for request in requests]
            for _ in range(10):  # until all wait for the writer
                await asyncio.sleep(0)
            worker.engine.write_all()
            return await asyncio.gather(*tasks)

        return self.loop.run_until_complete(asked())

    def ask(self, worker, path, **body):
        status, document = self.loop.run_until_complete(worker.answer("POST", path, body))
        if self.is_behind(worker, document):
            self.disturb()
            worker.look()
            status, document = self.loop.run_until_complete(worker.answer("POST", path, body))
        if self.disk.dead:
            raise Stopped
        if status != 200 and document.get("code") not in ("cursor_expired",):
            raise Wrong(f"{path} was answered with {status} {document}")
        return document

    def is_behind(self, worker, document):
        """Whether a worker cannot answer before it takes a newer version: the log was cut, or its version is gone."""
        return document.get("code") == "not_ready"

    def look_at(self):
        """Count, or get points, of a worker that may have been behind."""
        worker, history, low = self.rng.choice(self.workers), self.history, self.history.last
        more = {"min_seq": low} if self.rng.random() < 0.3 and low else {}
        if self.rng.random() < 0.4:
            history.saw(low, history.most, len, self.ask(worker, "/count", **more)["count"])
        else:
            wanted = self.rng.sample(IDS, 4)
            found = self.ask(worker, "/points", ids=wanted, **{"with": ["payload", "vector"]}, **more)["points"]
            history.saw(low, history.most, lambda state: taken(state, wanted), self.history.values(found))

    def activate(self):
        worker, version = self.rng.choice(self.workers), self.rng.choice(hubless.Catalog(self.path).version_ids(NAME))
        status, document = self.told(worker, "POST", f"/versions/{version}/activate")
        if status != 200:
            raise Wrong(f"{version} was not activated: {document}")
        self.current = {version}

    def look_at_version(self):
        """Others change versions without an answer: then each worker may serve the one before until it looks."""
        status, document = self.told(self.rng.choice(self.workers), "GET", "")
        if status != 200 or document["version"] not in self.current:
            raise Wrong(f"served is {document.get('version', document)}, and not one of {self.current}")

    def told(self, worker, *request):
        """What answers a request; `Stopped` if the machine did so meanwhile, and then nobody was told anything."""
        status, document = self.sent(worker, *request)
        if self.is_behind(worker, document):
            worker.look()
            status, document = self.sent(worker, *request)
        if self.disk.dead:
            raise Stopped
        return status, document

    def page(self):
        """The next page of a scroll, by any worker."""
        history = self.history
        if self.scroll is None:
            served = {worker.shelf.known(NAME).tried for worker in self.workers}
            self.scroll = SimpleNamespace(cursor=None, found=[], low=history.last, disturbed=len(served) > 1)
        scroll, worker = self.scroll, self.rng.choice(self.workers)
        more = {"min_seq": history.last} if (history.last and self.rng.random() < 0.7) or scroll.cursor is None else {}
        limit = self.rng.choice([1, 2, 3, 5])
        page = self.ask(worker, "/scroll", limit=limit, cursor=scroll.cursor, **more)
        if page.get("code") == "cursor_expired":
            if not scroll.disturbed:
                raise Wrong(f"a cursor expired though no version or machine changed: {page}")
            self.scroll = None
            return
        scroll.found += [point["id"] for point in page["points"]]
        scroll.cursor = page["cursor"]
        if scroll.cursor is None:
            self.scroll = None
            history.scrolled(scroll.low, history.last, scroll.found)
            history.settle()

    # what the machine does

    def follow(self):
        worker = self.rng.choice(self.workers)
        before = worker.shelf.known(NAME)
        worker.follow()
        if worker.shelf.known(NAME) is not before:
            self.disturb()

    def look(self):
        self.disturb()
        self.rng.choice(self.workers).look()

    def note_current(self):
        """Note which version a worker can find that looks. Points of a segment that was built have its number."""
        self.disturb()
        current = hubless.Catalog(self.path).current(NAME)
        self.current.add(current)
        manifest = bundle.read_manifest(self.path / NAME / catalogs.VERSIONS / current)
        built = [each for each in manifest.segments if f"segments/{each.name}/stamps.npy" not in manifest.files]
        self.history.merged |= {each.seq for each in built}

    def disturb(self):
        if self.scroll:
            self.scroll.disturbed = True

    def merge(self):
        with self.job(MERGE):
            compaction.BEHIND = compaction.WASTED = self.rng.choice(DUE)
            merge(self.path, NAME, keep=self.keep(), progress=SimpleNamespace(step=self.between))

    def flush(self):
        """Flush what a worker has, whether or not it has all; it does so itself."""
        worker = self.rng.choice(self.workers)
        with self.job(MERGE):
            for living in worker.shelf.living():
                if living.base.name == NAME:
                    made = flush(hubless.Catalog(self.path), living.current.parts, keep=self.keep())
                    self.done["flushed"] += made is not None

    def compact(self):
        if self.rng.random() < 0.7:  # else it is seldom due
            self.flush()
        with self.job(COMPACTION):
            compaction.BEHIND = compaction.WASTED = 0
            made = compact(self.path, NAME, keep=self.keep(), progress=SimpleNamespace(step=self.between))
            self.done["compacted"] += made is not None

    def refit(self):
        """Fit the correction on other queries, or on more."""
        with self.job(MERGE):
            now = open_written(hubless.Catalog(self.path), NAME, lenient=True).current
            if not {"a", "b"} & {each["tenant"] for each in now.payload(range(now.count))}:  # who have queries
                return
            self.number += 1
            keys, append = [f"{self.number}/{row}" for row in range(MOST_ASKED)], self.rng.random() < 0.5
            self.banks[self.number] = [*(self.banks[now.manifest.bank_order] if append else []), *keys]
            more = {"append": append, "keep": self.keep(), "bank_order": self.number}
            refit(self.path, NAME, rivals.asked(keys), progress=SimpleNamespace(step=self.between), **more)
            self.done["refitted"] += 1

    def calibrate(self):
        """Make confidence a probability, by labels of queries at random."""
        with self.job(MERGE):
            now = hubless.open(self.path, NAME)
            if now.count and now.manifest.confidence:
                relevant = [self.rng.choice(now.ids(range(now.count))) for _ in range(LABELLED)]
                queries = np.array([unit(f"asked {row}") for row in range(LABELLED)], np.float32)
                made = calibrate(self.path, NAME, queries, relevant, keep=self.keep())
                self.calibrated |= {made.fit} if made.confidence.calibrated else set()  # few targets tell nothing

    def copy(self):
        """Back up, and restore elsewhere: that is a state which was."""
        low, found, folder = self.history.last, [], self.path.parent / "copies"
        with self.refusals():
            self.note_current()
            back_up(hubless.Catalog(self.path), folder / "backup")
            restore(folder / "backup", hubless.Catalog(folder / "restored"))
            now = open_written(hubless.Catalog(folder / "restored"), NAME).current
            points = [now.point(each, vector=True) for each in now.ids(range(now.count))]
            found = [{**vars(each), "seq": int(now.parts.targets.seqs([each.row])[0])} for each in points]
        shutil.rmtree(folder, ignore_errors=True)
        if self.disk.dead:
            raise Stopped
        self.history.saw(low, self.history.most, lambda state: state, self.history.values(found))

    def keep(self):
        return self.rng.choice([None, 1, 1, 2])

    @contextmanager
    def job(self, kind):
        """Let a job change versions. Nothing, or a kill of this job alone, or the machine may stop it at any call."""
        self.disturb()
        around, doomed = (
            (self.inside, self.doomed),
            not (self.disk.left or self.disk.dead) and self.rng.random() < KILLED,
        )
        self.inside, self.doomed = kind, doomed
        if doomed:
            self.disk.left, self.disk.on_strike = self.rng.choice([1, 3, 10, 30, 100, 200]), lambda: None
        try:
            with suppress(*([HublessError] if doomed else [])), self.refusals():
                yield
        finally:
            self.inside, self.doomed = around
            if doomed:
                self.done["killed jobs"] += self.disk.dead
                self.disk.dead, self.disk.left = False, 0
        if self.rng.random() < 0.5:
            for worker in self.workers:
                worker.look()
        self.disturb()

    def between(self, description, total=None):
        """Others go on between the steps of a job. Its own kill is none of theirs."""
        if self.rng.random() < 0.3 and not self.disk.dead:
            left = self.disk.left
            self.disk.left = 0 if self.doomed else left
            self.step()
            if self.doomed:
                self.disk.left = left
        return lambda rows: None

    def rollback(self):
        self.disturb()
        with self.refusals(hubless.errors.VersionNotFound):
            catalog = hubless.Catalog(self.path)
            ids = catalog.version_ids(NAME)
            catalog.rollback(NAME, self.rng.choice(ids))
            if self.rng.random() < 0.5:
                catalog.rollback(NAME, ids[-1])

    def prune(self):
        self.disturb()
        with self.refusals():
            hubless.Catalog(self.path).prune(NAME, self.rng.choice([1, 2]))
            hubless.Catalog(self.path).cut_log(NAME)

    def refusals(self, *allowed):
        """Errors are allowed once the machine has stopped, and these."""
        return suppress(*allowed, *([HublessError] if self.disk.left or self.disk.dead else []))

    def kill_one(self):
        """Kill a worker, and begin another one."""
        number = self.rng.randrange(WORKERS)
        self.workers[number].end()
        self.workers[number].look()
        self.disturb()

    def stop(self):
        """Have the machine stop soon, by a kill of all processes or by a power cut."""
        power_cut = self.rng.random() < 0.6

        def strike():
            self.stopped = self.disk.cut_power(self.rng) if power_cut else {}

        self.disk.on_strike = strike
        self.disk.left = self.rng.choice([1, 3, 10, 30, 100, 300])

    def reboot(self):
        """Begin again with what is left of the disk."""
        tree, self.stopped = self.stopped, None
        for worker in self.workers:
            worker.end()
        self.disk.dead, self.disk.left = False, 0
        if tree:
            self.disk.become(tree)
        self.begin_workers()
        self.stopped_by_power = self.stopped_by_power or bool(tree)
        self.settle(power_cut=self.stopped_by_power)
        self.stopped_by_power = False

    def begin_workers(self):
        self.scroll = None
        self.current = set()
        for worker in self.workers:
            worker.look()

    def back_up(self):
        """Copy the log, as a backup does that copies it first."""
        self.settle()
        home = self.path / NAME
        self.backup = (self.history.last, {p.name: p.read_bytes() for p in home.glob("log.sqlite*") if p.is_file()})

    def restore(self):
        """Put the log of the backup beside the versions of now."""
        if self.disk.left:
            return
        if self.rng.random() < 0.5:  # it ends after the log was copied, and before the versions are
            self.merge()
        self.settle()
        (copied, files), home, history = self.backup, self.path / NAME, self.history
        self.backup = None
        if copied not in history.states:  # it has a write that was in doubt when it was made
            return
        for worker in self.workers:
            worker.end()
        for path in home.glob("log.sqlite*"):
            path.unlink()
        for name, content in files.items():
            if not name.endswith(("-shm", ".lock")):
                (home / name).write_bytes(content)
        catalog = hubless.Catalog(self.path)
        manifests = {each.id: each.manifest.log_seq for each in catalog.versions(NAME)}
        last = max(copied, manifests[catalog.current(NAME)])
        for version, reached in manifests.items():  # the others may need writes that no file has any more
            if version != catalog.current(NAME) and reached != manifests[catalog.current(NAME)]:
                shutil.rmtree(catalog.folder(NAME, version))
        catalog.sweep(NAME)
        self.disk.sync_all()
        history.returned(last)
        self.begin_workers()
        self.settle(restored=True)

    def settle(self, *, power_cut=False, restored=False):
        """Compare all that there is with the history, as every worker gives it."""
        self.disturb()
        for worker in self.workers:
            worker.look()
        answers, points = [], []
        for worker in self.workers:
            [(status, document)] = self.ask_all(worker, [Attempt("delete", [("nobody", None)], "")])
            if self.disk.dead:
                raise Stopped
            if status != 200:
                raise Wrong(f"a write was answered with {status} {document}")
            last = document["seq"]
            found, cursor = [], None
            while True:
                more = {"min_seq": last} if last else {}
                page = self.ask(worker, "/scroll", limit=7, cursor=cursor, **{"with": ["payload", "vector"]}, **more)
                found += page["points"]
                if (cursor := page["cursor"]) is None:
                    break
            values = self.history.values(found)
            if len(values) < len(found) or self.ask(worker, "/count", **more)["count"] != len(found):
                raise Wrong(f"points stand twice, or the count is wrong: {found}")
            points += found
            answers.append((last, values))
        if answers.count(answers[0]) < WORKERS:
            raise Wrong(f"the workers differ: {answers}")
        last, values = answers[0]
        if restored and last > self.history.last:
            self.history.renumbered(last)
        self.history.settle(last, values, power_cut=power_cut)
        self.check_offsets(points)
        if self.rng.random() < 0.5:
            self.clear_up()

    def check_offsets(self, points):
        """Compare offsets with those by the definition, less a constant of the fit, and of the tenant."""
        current = hubless.open(self.path, NAME)
        fit, confidence = current.manifest.fit, current.manifest.confidence
        correction = current.correction()
        held = correction.alone and correction.alone.usual - correction.constant  # of offsets that stand alone
        if fit in self.calibrated and not confidence.calibrated:
            raise Wrong(f"{current.version} has lost its calibration")
        for point in points:
            value = self.history.states[self.history.last][point["id"]]
            if held is not None and abs(point["offset"] - held) < 1e-5:
                continue
            expected, whose = self.offset_of(point["id"], value, current)
            if whose is not None:
                expected += self.constants.setdefault((fit, whose), point["offset"] - expected)
            if abs(point["offset"] - expected) > 1e-5:
                raise Wrong(f"the offset is wrong, {expected} is right: {point}")

    def offset_of(self, wanted, value, current):
        """The offset of a point, and whose constant is to be taken from it; None for nobody's."""
        manifest, given = current.manifest, self.kind.get("offsets") or self.kind.get("target_prior")
        by_column, by_array = number(value.title), number(wanted) if value.built else None
        given = by_column if given == COLUMN else by_array
        if "offsets" in self.kind:
            return manifest.own_offsets.median if given is None else given, "all"
        if "target_prior" in self.kind:
            correction = current.correction()
            temperature, shrinkage, median = map(correction.details.get, ("temperature", "shrinkage", "prior_median"))
            vector = ArrayVectors(unit(value.key).astype(np.float32)[None], "vectors")
            return correction.offsets(vector)[0] - temperature * shrinkage * np.log((given or median) / median), None
        bank, tenant = self.banks[manifest.bank_order], "all"
        if "fit_by" in self.kind:
            tenant = payload_of(value.title)["tenant"]
            if tenant not in current.correction().fitted.fits:  # it had no queries, or no targets, at the fit
                return 0, None
            bank = bank["ab".index(tenant) :: 2]
        near = np.sort([unit(key) @ unit(value.key) for key in bank])
        return near[-rivals.K :].mean() / 2, tenant

    def clear_up(self):
        """Look what is left, once the collection was changed again."""
        catalog = hubless.Catalog(self.path)
        with self.refusals():
            catalog.sweep(NAME)
            if left := small.unnamed(catalog.home(NAME)):
                raise Wrong(f"no version names {left}")


class Here(Executor):
    """Does the work at once, in the thread that submits it."""

    def __init__(self, *options):
        pass

    def submit(self, work, /, *arguments, **named):
        done = Future()
        try:
            done.set_result(work(*arguments, **named))
        except BaseException as error:
            done.set_exception(error)
        return done


def take_shortcuts():
    """Compute in the thread that asks, and once what follows from bytes alone: no result is another one."""
    threads.one_blas_thread.__enter__()  # as a service does while it runs
    modules: list[Any] = [coupling, streaming, threads]
    for module in modules:
        module.ThreadPoolExecutor = Here
    ast.literal_eval = lru_cache(_KEPT)(ast.literal_eval)  # NumPy reads the header of each array with it
    sealed = bundle.sealed_text
    of_text = lru_cache(_KEPT)(lambda text: sealed(json.loads(text)))
    bundle.sealed_text = lambda content: of_text(json.dumps(content))


class Stage:
    """What all seeds of a process share, as it takes long to make."""

    def __init__(self, folder):
        root = folder / "catalog"
        take_shortcuts()
        shards.SHARD_LEAST = 1
        self.templates = []
        for kind in KINDS:
            rivals.build(root, FIRST, **INDEX, **kind)
            self.templates.append(tree_of(root))
            shutil.rmtree(root)
        root.mkdir()
        self.disk = Disk(root)
        self.loop = cast("Any", asyncio.new_event_loop())
        self.loop._default_executor = Here()  # for asyncio.to_thread
        self.workers = [Worker(root) for _ in range(WORKERS)]
        self.done = Counter()
        gc.disable()
        gc.freeze()


def main(folder, first, count):
    logging.disable()
    folder.mkdir(exist_ok=True)
    stage = Stage(folder)
    writes = reads = 0
    with calls.watching(stage.disk.root, stage.disk.told):
        for seed in range(first, first + count):
            world = None
            if not seed % _COLLECTED:
                gc.collect()
            try:
                world = World(seed, stage)
                world.play()
            except Exception as error:
                problem = str(error) if isinstance(error, Wrong) else traceback.format_exc()
                print(json.dumps({"seed": seed, "problem": problem}), flush=True)
            if world is not None:
                writes, reads = writes + world.history.writes, reads + world.history.reads
    print(json.dumps({"seeds": count, "checked writes": writes, "checked reads": reads, **stage.done}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
