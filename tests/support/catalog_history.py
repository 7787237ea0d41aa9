"""What clients were told of the names in a catalog, and whether it can be true.

Names are aliases, collections, and versions that are current. An attempt has the moments at which it began and ended.
There must be one order of all changes in which each comes to its answer, and in which a change comes before all that
began after its end. A read sees the state between two of them. So it sees no state before a change that was answered
before the read began. Two reads may see a change in any order until it is answered: workers take it one after another.

The search is that of Wing and Gong (1993): what can come next is tried, and no state is tried twice.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

from support.history import Wrong


class Stands(NamedTuple):
    """An alias. Each change of any alias has the next revision."""

    collection: str
    revision: int


class Held(NamedTuple):
    """A collection: its current version, what was written to the one point that the clients write, and its bank."""

    version: str  # UNSEEN until a read has told it
    mark: str | None = None
    waiting: int | None = None  # live queries that a bank waits for


UNSEEN = ""


@dataclass(frozen=True)
class State:
    aliases: Mapping[str, Stands]
    collections: Mapping[str, Held]
    revision: int = 0
    used: frozenset[str] = frozenset()
    """Versions that were seen; a collection that is made anew has none of them."""

    @property
    def key(self):
        return frozenset(self.aliases.items()), frozenset(self.collections.items()), self.revision, self.used

    def with_alias(self, alias, collection):
        new = Stands(collection, self.revision + 1)
        return replace(self, aliases={**self.aliases, alias: new}, revision=new.revision)

    def without_aliases(self, gone):
        left = {alias: stands for alias, stands in self.aliases.items() if alias not in gone}
        return replace(self, aliases=left, revision=self.revision + 1) if gone else self

    def with_collection(self, name, held):
        return replace(self, collections={**self.collections, name: held})


@dataclass(eq=False)
class Attempt:
    """A change or a read as a client sends it."""

    kind: str  # of CHANGES or READS
    name: str  # of the alias or collection
    value: Any = None  # what the alias is to stand for, the version or the mark
    match: int | str | None = None  # the revision of If-Match, ANY, or NONE for If-None-Match; None for no header
    begin: int = 0
    end: float = inf
    answer: Any = None

    @property
    def changes(self):
        """Whether it changed something, or may have, as no answer came."""
        return self.kind in CHANGES and not isinstance(self.answer, str)

    def play(self, state):
        """The state after this attempt; None if it comes to another answer."""
        if self.kind in READS:
            return READS[self.kind](state, self)
        after, answer = CHANGES[self.kind](state, self)
        if self.end == inf:
            return after
        return after if answer == self.answer else None


ANY, NONE = "*", "none"
# refusals, as the service names them, and what changes nothing
NO_COLLECTION, NO_ALIAS, ALIASED = "collection_not_found", "alias_not_found", "collection_aliased"
OTHER, UNASKED, THERE = "precondition_failed", "precondition_required", "there"
DONE = ("done",)


def _precondition(state, attempt):
    stands, match = state.aliases.get(attempt.name), attempt.match
    if match == NONE:
        return OTHER if stands else None
    if match is None:
        return UNASKED if stands else None
    return None if stands and match in (ANY, stands.revision) else OTHER


def _put_alias(state, attempt):
    refusal = None if attempt.value in state.collections else NO_COLLECTION
    if refusal := refusal or _precondition(state, attempt):
        return state, refusal
    after = state.with_alias(attempt.name, attempt.value)
    return after, after.aliases[attempt.name]


def _delete_alias(state, attempt):
    if attempt.name not in state.aliases:
        return state, NO_ALIAS
    if refusal := _precondition(state, attempt):
        return state, refusal
    return state.without_aliases([attempt.name]), state.aliases[attempt.name]


def _create(state, attempt):
    if attempt.name in state.collections:
        return state, THERE
    return state.with_collection(attempt.name, Held(UNSEEN)), DONE


def _delete(state, attempt):
    """The value says whether aliases are to go, too."""
    if attempt.name not in state.collections:
        return state, NO_COLLECTION
    standing = [alias for alias, stands in state.aliases.items() if stands.collection == attempt.name]
    if standing and not attempt.value:
        return state, ALIASED
    left = {name: held for name, held in state.collections.items() if name != attempt.name}
    return replace(state.without_aliases(standing), collections=left), DONE


def _mark(state, attempt):
    if attempt.name not in state.collections:
        return state, NO_COLLECTION
    held = state.collections[attempt.name]
    return state.with_collection(attempt.name, held._replace(mark=attempt.value)), DONE


def _activate(state, attempt):
    held = state.collections[attempt.name]
    return state.with_collection(attempt.name, held._replace(version=attempt.value)), DONE


def _put_bank(state, attempt):
    held = state.collections[attempt.name]
    return state.with_collection(attempt.name, held._replace(waiting=attempt.value)), DONE


def _read(look):
    return lambda state, attempt: state if look(state, attempt.name) == attempt.answer else None


def _version(state, attempt):
    held = state.collections.get(attempt.name)
    if held and held.version == UNSEEN and attempt.answer not in {None, *state.used}:
        after = state.with_collection(attempt.name, held._replace(version=attempt.answer))
        return replace(after, used=state.used | {attempt.answer})
    return state if (held and held.version) == attempt.answer else None


def _bank(state, attempt):
    """The answer is what a bank waits for.

    If none does, it is the version, which banks it can have been fitted on, and the last refusal of a bank, which
    explains one that went without a version.
    """
    held = state.collections[attempt.name]
    if not isinstance(attempt.answer, tuple):
        return state if held.waiting == attempt.answer else None
    version, fitted_on, refused = attempt.answer
    if held.waiting is None:
        return state if version == held.version else None
    if version == held.version and refused is not None and refused not in state.used:
        after = state.with_collection(attempt.name, held._replace(waiting=None))
        return replace(after, used=state.used | {refused})
    if version in {held.version, *state.used} or held.waiting not in fitted_on:
        return None
    after = state.with_collection(attempt.name, held._replace(version=version, waiting=None))
    return replace(after, used=state.used | {version, held.version})


def _stands_elsewhere(state, attempt):
    """The answer is what was there: nothing that the alias stands for."""
    stands = state.aliases.get(attempt.name)
    return None if stands and stands.collection in attempt.answer else state


def _stands(state, name):
    """The collection that answers requests to an alias."""
    stands = state.aliases.get(name)
    return stands.collection if stands and stands.collection in state.collections else None


CHANGES: dict[str, Callable] = {
    "put alias": _put_alias,
    "delete alias": _delete_alias,
    "create": _create,
    "delete": _delete,
    "mark": _mark,
    "activate": _activate,
    "put bank": _put_bank,
    "rest": lambda state, attempt: (state, DONE),
}
READS: dict[str, Callable] = {
    "alias": _read(lambda state, name: state.aliases.get(name)),
    "stands": _read(_stands),
    "stands elsewhere": _stands_elsewhere,
    "there": _read(lambda state, name: name in state.collections),
    "version": _version,
    "bank": _bank,
    "read mark": _read(lambda state, name: state.collections.get(name, Held(UNSEEN)).mark),
}


class CatalogHistory:
    """All attempts at the names of a catalog.

    Attributes
    ----------
    state : the state after the last call of `settle`
    done : how many attempts were checked, by kind, and how many of them had no answer, as "lost"
    """

    def __init__(self, state):
        self.state, self.done = state, Counter()
        self._attempts: list[Attempt] = []
        self._moments = itertools.count(1)  # as a clock, but no two are alike

    def begin(self, attempt):
        """Note that an attempt is sent now. Without an answer it may have come to its end or not."""
        attempt.begin = next(self._moments)
        self._attempts.append(attempt)
        return attempt

    def forget(self, attempt):
        """Note that an attempt was never sent."""
        self._attempts.remove(attempt)

    def answered(self, attempt, answer):
        """Note what was answered: a refusal, or what the functions of CHANGES and READS say."""
        attempt.answer, attempt.end = answer, next(self._moments)

    def read(self, began, kind, name, answer):
        """Note one of the things that a read told, which began with an attempt or at a `moment`."""
        self._attempts.append(Attempt(kind, name, begin=began, end=next(self._moments), answer=answer))

    def moment(self):
        return next(self._moments)

    def rest(self):
        """Note that all attempts were answered, or the processes have ended that worked on them."""
        now = self.moment()
        self._attempts.append(Attempt("rest", "", begin=now, end=now, answer=DONE))

    def settle(self):
        """Find an order of all that was answered; call it when all was read again since `rest`. Raises `Wrong`."""
        lost = [each for each in self._attempts if each.end == inf]
        known = [each for each in self._attempts if each.end < inf]
        self.state = _ordered(self.state, known, [each for each in lost if each.kind in CHANGES])
        self.done.update(each.kind for each in known)
        self.done["lost"] += len(lost)
        self._attempts = []


def _ordered(start, known, lost):
    """The state after all known attempts, and those of the lost that must have come to their end, before a rest."""
    known = sorted(known, key=lambda each: each.begin)
    rests = sum(1 << place for place, each in enumerate(known) if each.kind == "rest")
    everything, furthest = (1 << len(known)) - 1, (-1, None, [])
    stack, tried = [(start, 0, frozenset())], set()
    while stack:
        state, done, found = stack.pop()
        done, front = _absorbed(state, done, known)
        if done == everything:
            return state
        if (done, found, state.key) in tried:
            continue
        tried.add((done, found, state.key))
        furthest = max(furthest, (done.bit_count(), state, front), key=lambda each: each[0])
        # a change comes after all that ended before it began; reads here saw another state, or tell of a version
        latest = min(known[place].end for place in front)
        for place, each in enumerate(lost):
            early = each.begin < latest and not done & rests
            if early and place not in found and (after := each.play(state)) is not None:
                stack.append((after, done, found | {place}))
        for place in sorted(front, key=lambda each: -known[each].end):
            each = known[place]
            if (not each.changes or each.begin <= latest) and (after := each.play(state)) is not None:
                stack.append((after, done | 1 << place, found))
    _, state, front = furthest
    told = "\n".join(map(str, sorted((known[place] for place in front), key=lambda each: each.end)))
    raise Wrong(f"no order explains these, the first before all:\n{told}\nafter {state}\nwith, perhaps, {lost}")


def _absorbed(state, done, known):
    """What is done with all reads that see this state, and the places of attempts that can come next."""
    front, least = [], inf
    # the lowest place that is not done
    for place in range((~done & (done + 1)).bit_length() - 1, len(known)):
        each = known[place]
        if each.begin > least:
            break
        if done >> place & 1:
            continue
        front.append(place)
        if each.changes:
            least = min(least, each.end)
    left = []
    for place in front:
        each = known[place]
        if not each.changes and each.play(state) is state:
            done |= 1 << place
        else:
            left.append(place)
    return done, left
