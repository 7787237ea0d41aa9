"""What clients were told of a collection, and whether it can be true.

Attempts are written down when they begin and when their answers come. The rest follows from the numbers that the
service gives to writes: played in that order, they must come to what every answer said.
"""

import itertools
import threading
import zlib
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

REFUSALS = ("precondition_failed", "point_exists", "point_not_found")


class Wrong(AssertionError):
    """An answer that cannot be true."""


class Value(NamedTuple):
    """A point: the key that its vector comes from, its title, and the write that put it.

    It is `built` while nobody has deleted what was built under its id.
    """

    key: str
    title: str
    seq: int
    built: bool = False


@dataclass(eq=False)  # two clients may try the same at once
class Attempt:
    """A write as a client sends it."""

    kind: str  # put, insert, patch, delete or delete title
    points: list[tuple[str, str | None]]  # id and key of vector, None to keep it
    title: str  # unlike all others
    expected: int | None = None  # seq that the one target must have; None for any
    durable: bool = True
    faulty: bool = False
    after: int = 0  # the last write that was acknowledged when it began
    seq: int | None = None  # what was answered, with the document; None if no answer came
    document: dict[str, Any] = field(default_factory=dict)

    def play(self, state, seq, merged=frozenset()):
        """The state after this write, and what it answers; None for the state if it is refused.

        A point may have the number of a version, `merged`, that is later than its own write.
        """
        ids = [wanted for wanted, _ in self.points]
        if self.expected is not None and self._is_refused(state.get(ids[0]), merged):
            return None, {"code": "precondition_failed"}
        if self.kind == "insert" and any(wanted in state for wanted in ids):
            return None, {"code": "point_exists"}
        if self.kind == "patch" and any(wanted not in state for wanted in ids):
            return None, {"code": "point_not_found"}
        if self.kind.startswith("delete"):
            if self.kind == "delete title":
                ids = [wanted for wanted, value in state.items() if value.title == self.title]
            gone = {wanted for wanted in ids if wanted in state}
            return {wanted: value for wanted, value in state.items() if wanted not in gone}, {"deleted": len(gone)}
        there = sum(wanted in state for wanted in ids)
        changed = {}
        for wanted, key in self.points:
            known = state.get(wanted)
            changed[wanted] = Value(key or known.key, self.title, seq, known is not None and known.built)
        return {**state, **changed}, {"inserted": len(ids) - there, "updated": there}

    def _is_refused(self, known, merged):
        """Whether a point is not the expected one. If it may be either, the answer tells."""
        if known is None:
            return True
        later = {each for each in merged if each > known.seq}
        if self.expected not in {known.seq, *later}:
            return True
        return bool(later) and self.document.get("code") == "precondition_failed"


@cache
def vector(key):
    """The vector of a key, as it is sent; d is 4."""
    return np.random.default_rng(zlib.crc32(key.encode())).normal(size=4).round(3).tolist()


def number(text):
    """A number that follows from a text: an offset of one's own, or a prior."""
    return 0.1 + zlib.crc32(text.encode()) % 100 / 100


def payload_of(title):
    """The payload of a point: all of it follows from its title. The tenant is one of three."""
    return {"title": title, "number": number(title), "tenant": "abc"[zlib.crc32(title.encode()) % 3]}


class History:
    """All attempts at one collection, and what it must hold after each of its writes."""

    def __init__(self, state, last=0):
        self.states = {last: state}
        self.base = self.last = self.durable = last  # the last write that was acknowledged
        self.merged = {last}  # the last writes of versions that were built; their points may have this number
        self.writes = self.reads = self.scrolls = 0  # how many were checked
        self._open: list[Attempt] = []  # begun, and not answered
        self._done: list[Attempt] = []
        self._seen: list[tuple[int, int, Any, Any]] = []
        self._scrolls: list[tuple[int, int, list[str]]] = []
        self._lock = threading.Lock()

    def begin(self, attempt):
        with self._lock:
            attempt.after = self.last
            self._open.append(attempt)

    def forget(self, attempt):
        with self._lock:
            self._open.remove(attempt)

    def answered(self, attempt, status, document):
        with self._lock:
            self._open.remove(attempt)
            if status == 200:
                if attempt.faulty:
                    raise Wrong(f"a write that cannot be applied was taken: {attempt}")
                attempt.seq = document["seq"]
                if attempt.seq < attempt.after:
                    raise Wrong(f"write {attempt.seq} was acknowledged after {attempt.after}: {attempt}")
                self.last = max(self.last, attempt.seq)
                attempt.document = document
                if attempt.durable and _changes(attempt):  # else it has nothing to wait for
                    self.durable = max(self.durable, attempt.seq)
            elif not attempt.faulty and document.get("code") not in REFUSALS:
                raise Wrong(f"a right write was refused: {status} {document}: {attempt}")
            attempt.document = document
            self._done.append(attempt)

    @property
    def most(self):
        """The number that the last write has at most."""
        return self.last + len(self._open)

    def saw(self, low, high, look, answer):
        """Note that somebody saw what `look` gives of the state after one of the writes from `low` to `high`."""
        self._seen.append((low, high, look, answer))

    def scrolled(self, low, high, ids):
        """Note the ids that all pages gave together, from the first, after write `low`, to the last, before `high`."""
        self._scrolls.append((low, high, ids))

    def settle(self, last=None, found=None, *, power_cut=False):
        """Play all that was answered; call it when nobody writes. Raises `Wrong`.

        `last` and `found` are the last write and all points, as they are now; None if nothing was lost since the last
        call. What was never answered was done as a whole or not at all, which `found` tells. After a power cut, writes
        may be gone whose clients did not want to wait for the disk.
        """
        last = self.last if last is None else last
        least = self.durable if power_cut else self.last
        if last < least:
            raise Wrong(f"write {least} was acknowledged, and {last} is the last that is there")
        self.base = min(self.base, last)
        done = [attempt for attempt in self._done if attempt.seq is None or attempt.seq <= last]
        waiting = [] if found is None else self._open
        known = {a.seq for a in done if a.seq is not None and _changes(a)}
        missing = [seq for seq in range(self.base + 1, last + 1) if seq not in known]
        trouble = f"writes {missing} are of nobody" if len(missing) > len(waiting) else ""
        for order in itertools.permutations(waiting, len(missing)):
            if any(attempt.after >= seq for attempt, seq in zip(order, missing, strict=True)):
                continue
            try:
                states = self._played(done, dict(zip(missing, order, strict=True)), last)
                if found is not None and not self._same(found, states[last]):
                    raise Wrong(f"after write {last} there is {self._difference(found, states[last])}")
                self.states |= states
                self._check_seen(last)
            except Wrong as wrong:
                trouble = trouble or str(wrong)
                continue
            self.base = self.last = last
            self.durable = last if power_cut else min(self.durable, last)
            for seq in [seq for seq in self.states if seq > last]:
                del self.states[seq]
            self.writes += len(self._done)
            self._done, self._seen, self._scrolls = [], [], []
            if found is not None:
                self._open = []
            return
        raise Wrong(trouble)

    def returned(self, last):
        """Go back to the state after an earlier write, as somebody has restored it; the next write has any number."""
        self._open, self._done, self._seen, self._scrolls = [], [], [], []
        self.base = self.last = self.durable = last

    def renumbered(self, last):
        """Note that the next write is numbered after a larger one, as after a restore."""
        self.states[last] = self.states[self.last]
        self.base = self.last = self.durable = last

    def values(self, points):
        """Points, as they are answered with payload and vector, by id. The key of a vector is one it can come from."""
        with self._lock:
            attempts = [*self._open, *self._done]
        found = {}
        for point in points:
            title, wanted, given = point["payload"]["title"], point["id"], np.array(point["vector"])
            keys = {wanted, *(state[wanted].key for state in self.states.values() if wanted in state)}
            keys |= {f"{wanted} {each.title}" for each in attempts}
            of = [key for key in keys if np.abs(unit(key) - given).max() < 1e-5]
            found[wanted] = Value(of[0] if of else f"none: {given}", title, point["seq"])
        return found

    def _played(self, done, lost, last):
        states, state = {self.base: self.states[self.base]}, self.states[self.base]
        by_seq: dict[int, list[Attempt]] = {}
        for attempt in done:
            if attempt.seq is not None:
                by_seq.setdefault(attempt.seq, []).append(attempt)
        for seq in range(self.base, last + 1):
            here = sorted(by_seq.get(seq, []), key=lambda each: not _changes(each))
            if sum(map(_changes, here)) > 1:
                raise Wrong(f"several writes are number {seq}: {here}")
            if seq > self.base:
                attempt = lost.get(seq) or here.pop(0)
                after, document = attempt.play(state, seq, self.merged)
                if after is None or attempt.faulty:
                    raise Wrong(f"write {seq} was to be refused ({document}): {attempt}")
                self._compare(attempt, document, attempt.document)
                states[seq] = state = after
            for attempt in here:  # those that changed nothing
                after, document = attempt.play(state, seq, self.merged)
                if after is None or after != state:
                    raise Wrong(f"a write that changed nothing was to change something after {seq}: {attempt}")
                self._compare(attempt, document, attempt.document)
        for attempt in done:
            if attempt.seq is None and not attempt.faulty:
                after = range(attempt.after, last + 1)
                played = [attempt.play(states[seq], seq, self.merged)[1] for seq in after if seq in states]
                if played and not any(document.get("code") == attempt.document["code"] for document in played):
                    raise Wrong(f"refused without a reason: {attempt}")
        return states

    def _compare(self, attempt, document, answer):
        if answer and any(answer[name] != value for name, value in document.items()):
            raise Wrong(f"answered {answer}, and {document} is right: {attempt}")

    def _same(self, found, expected):
        if not isinstance(found, dict):
            return found == expected
        return found.keys() == expected.keys() and not self._difference(found, expected)

    def _difference(self, found, expected):
        """The points that are not as expected, and what was expected of them."""
        return {
            name: (found.get(name), expected.get(name))
            for name in sorted({*found, *expected})
            if not (name in found and name in expected and self._is(found[name], expected[name]))
        }

    def _is(self, value, expected):
        of_version = value.seq in self.merged and value.seq >= expected.seq
        return value[:2] == expected[:2] and (of_version or value.seq == expected.seq)

    def _check_seen(self, last):
        for low, high, look, answer in self._seen:
            if high > last < self.last:  # it may have seen what a power cut has taken since
                continue
            states = self._between(low, high, last)
            if not any(self._same(answer, look(state)) for state in states):
                seen = look(states[-1]) if states else None
                raise Wrong(f"seen {answer} of writes {low} to {high}, and not {seen}")
            self.reads += 1
        for low, high, ids in self._scrolls:
            states = self._between(low, high, last)
            for wanted in {*ids, *states[0]}:
                values = {state.get(wanted) for state in states}
                if len(values) == 1 and ids.count(wanted) != (values != {None}):
                    raise Wrong(f"a scroll over writes {low} to {high} gave {wanted} {ids.count(wanted)} times: {ids}")
            self.scrolls += 1

    def _between(self, low, high, last):
        return [self.states[seq] for seq in range(low, min(high, last) + 1) if seq in self.states]


def _changes(attempt):
    document = attempt.document
    return not document or bool(document.get("deleted", 0) + document.get("inserted", 0) + document.get("updated", 0))


def taken(state, wanted):
    return {each: state[each] for each in wanted if each in state}


_units: dict[str, np.ndarray] = {}


def unit(key):
    """The vector of a key as it is compared."""
    if key not in _units:
        made = np.array(vector(key))
        _units[key] = made / np.linalg.norm(made)
    return _units[key]


def request_of(attempt):
    headers = {} if attempt.expected is None else {"if-match": f'"{attempt.expected}"'}
    if attempt.faulty:
        headers["x-faulty"] = "1"
    body = {} if attempt.durable else {"durability": "memory"}
    if attempt.kind == "delete title":
        return "POST", "/points/delete", body | {"filter": {"field": "title", "eq": attempt.title}}, headers
    if attempt.kind == "delete":
        return "POST", "/points/delete", body | {"ids": [wanted for wanted, _ in attempt.points]}, headers
    payload = {"payload": payload_of(attempt.title)}
    if attempt.kind == "patch":
        points = [{"id": wanted} | payload for wanted, _ in attempt.points]
        return "PATCH", "/points", body | {"points": points}, headers
    points = [{"id": wanted, "vector": vector(key)} | payload for wanted, key in attempt.points]
    body |= {"mode": "insert"} if attempt.kind == "insert" else {}
    return "PUT", "/points", body | {"points": points}, headers
