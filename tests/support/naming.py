"""The names in a catalog, as clients were told of them one after another: aliases, and collections that come and go.

A change whose answer never came was done at once or not at all. So there are several states that the catalog can be
in, each answer leaves those in which it is right, and a wrong answer leaves none.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from support.history import Wrong

NEW = {"dim": 4, "metric": "cosine", "id_type": "string"}
MARKED = "marked"
"""The one point of a collection that is created and deleted: it is put anew."""
UNSEEN = ""
ANY, NONE = "*", "none"
# refusals, as the service names them, and what changes nothing
NO_COLLECTION, NO_ALIAS, ALIASED = "collection_not_found", "alias_not_found", "collection_aliased"
OTHER, UNASKED, THERE = "precondition_failed", "precondition_required", "there"
DONE = ("done",)


class Stands(NamedTuple):
    """An alias. Each change of any alias has the next revision."""

    collection: str
    revision: int


class Held(NamedTuple):
    """A collection: its version, and what was written to the one point that the clients write."""

    version: str  # UNSEEN until a read has told it
    mark: str | None = None


@dataclass(frozen=True)
class State:
    aliases: Mapping[str, Stands]
    collections: Mapping[str, Held]
    revision: int = 0
    used: frozenset[str] = frozenset()
    """Versions that were seen; a collection that is made anew has none of them."""

    def with_alias(self, alias, collection):
        new = Stands(collection, self.revision + 1)
        return replace(self, aliases={**self.aliases, alias: new}, revision=new.revision)

    def without_aliases(self, gone):
        left = {alias: stands for alias, stands in self.aliases.items() if alias not in gone}
        return replace(self, aliases=left, revision=self.revision + 1) if gone else self

    def with_collection(self, name, held):
        return replace(self, collections={**self.collections, name: held})


@dataclass(frozen=True)
class Change:
    kind: str  # of CHANGES
    name: str  # of the alias or collection
    value: Any = None  # what the alias is to stand for, the mark, or whether aliases are to go with the collection
    match: int | str | None = None  # the revision of If-Match, ANY, or NONE for If-None-Match; None for no header


def _precondition(state, change):
    stands, match = state.aliases.get(change.name), change.match
    if match == NONE:
        return OTHER if stands else None
    if match is None:
        return UNASKED if stands else None
    return None if stands and match in (ANY, stands.revision) else OTHER


def _put_alias(state, change):
    refusal = None if change.value in state.collections else NO_COLLECTION
    if refusal := refusal or _precondition(state, change):
        return state, refusal
    after = state.with_alias(change.name, change.value)
    return after, after.aliases[change.name]


def _delete_alias(state, change):
    if change.name not in state.aliases:
        return state, NO_ALIAS
    if refusal := _precondition(state, change):
        return state, refusal
    return state.without_aliases([change.name]), state.aliases[change.name]


def _create(state, change):
    if change.name in state.collections:
        return state, THERE
    return state.with_collection(change.name, Held(UNSEEN)), DONE


def _delete(state, change):
    if change.name not in state.collections:
        return state, NO_COLLECTION
    standing = [alias for alias, stands in state.aliases.items() if stands.collection == change.name]
    if standing and not change.value:
        return state, ALIASED
    left = {name: held for name, held in state.collections.items() if name != change.name}
    return replace(state.without_aliases(standing), collections=left), DONE


def _mark(state, change):
    if change.name not in state.collections:
        return state, NO_COLLECTION
    held = state.collections[change.name]
    return state.with_collection(change.name, held._replace(mark=change.value)), DONE


CHANGES: dict[str, Callable] = {
    "put alias": _put_alias,
    "delete alias": _delete_alias,
    "create": _create,
    "delete": _delete,
    "mark": _mark,
}
LOOKS: dict[str, Callable] = {
    "alias": lambda state, name: state.aliases.get(name),
    "stands": lambda state, name: state.aliases[name].collection if name in state.aliases else None,
    "there": lambda state, name: name in state.collections,
    "mark": lambda state, name: state.collections.get(name, Held(UNSEEN)).mark,
}


def _told_version(state, name, version):
    """The state once a read has told the version of a collection; None if it cannot be that."""
    held = state.collections.get(name)
    if held and held.version == UNSEEN and version not in {None, *state.used}:
        return replace(state.with_collection(name, held._replace(version=version)), used=state.used | {version})
    return state if (held and held.version) == version else None


class Names:
    """The states that the names of a catalog can be in, after all that was told of them. A wrong answer is `Wrong`."""

    def __init__(self, state):
        self.done = Counter()  # how many changes and reads were checked, by kind
        self._states = [state]

    def lost(self, change):
        """Note that no answer of a change came."""
        played = [CHANGES[change.kind](state, change)[0] for state in self._states]
        self._states += [after for place, after in enumerate(played) if after not in [*self._states, *played[:place]]]

    def changed(self, change, answer):
        """Note what was answered: a refusal, or what the functions of CHANGES say."""
        played = [CHANGES[change.kind](state, change) for state in self._states]
        self._keep(change.kind, change, answer, [after for after, right in played if right == answer])

    def read(self, kind, name, answer):
        self._keep(kind, name, answer, [state for state in self._states if LOOKS[kind](state, name) == answer])

    def version(self, name, answer):
        told = [_told_version(state, name, answer) for state in self._states]
        self._keep("version", name, answer, [state for state in told if state is not None])

    def _keep(self, kind, asked, answer, left):
        if not left:
            raise Wrong(f"{kind} {asked} was answered with {answer}, and there was one of {self._states}")
        self._states = left
        self.done[kind] += 1


def request_of(change):
    """Method, path, body and headers of a change."""
    name, value = change.name, change.value
    if change.match is None:
        headers = {}
    elif change.match == NONE:
        headers = {"if-none-match": "*"}
    else:
        headers = {"if-match": "*" if change.match == ANY else f'"{change.match}"'}
    point = {"id": MARKED, "vector": [1.0] * NEW["dim"], "payload": {"title": value}}
    method, path, body = {
        "put alias": ("PUT", f"aliases/{name}", {"collection": value}),
        "delete alias": ("DELETE", f"aliases/{name}", None),
        "create": ("PUT", f"collections/{name}", NEW),
        "delete": ("DELETE", f"collections/{name}?aliases={'true' if value else 'false'}", None),
        "mark": ("PUT", f"collections/{name}/points", {"points": [point]}),
    }[change.kind]
    return method, f"/v1/{path}", body, headers


def told_of(change, status, document):
    """What an answer to a change tells, as `Names.changed` takes it."""
    if status >= 400:
        return document["code"]
    if "alias" in change.kind:
        return stands_of(document)
    return THERE if (change.kind, status) == ("create", 200) else DONE


def stands_of(document):
    return Stands(document["collection"], int(document["etag"].strip('"')))


class Reader:
    """Reads names, and checks what it is told. `ask(method, path, body)` gives status and document."""

    def __init__(self, names, ask, other):
        """`other` is a collection whose versions are not known."""
        self._names, self._ask, self._other = names, ask, other

    def _get(self, path):
        return self._ask("GET", f"/v1/{path}", None)

    def alias(self, alias):
        status, document = self._get(f"aliases/{alias}")
        found = stands_of(document) if status == 200 else None
        self._names.read("alias", alias, found)
        return found

    def by_alias(self, alias):
        status, document = self._get(f"collections/{alias}")
        name = document["name"] if status == 200 else None
        self._names.read("stands", alias, name)
        if name not in (None, self._other):
            self._names.version(name, document["version"])

    def collection(self, name):
        status, document = self._get(f"collections/{name}")
        self._names.version(name, document["version"] if status == 200 else None)
        listed = {each["name"]: each["version"] for each in self._get("collections")[1]["collections"]}
        self._names.version(name, listed.get(name))

    def mark(self, name):
        status, document = self._get(f"collections/{name}/points/{MARKED}")
        self._names.read("mark", name, document["payload"]["title"] if status == 200 else None)
        self._names.read("there", name, document.get("code") != "collection_not_found")

    def aliases(self, aliases):
        found = {each["alias"]: stands_of(each) for each in self._get("aliases")[1]["aliases"]}
        for alias in aliases:
            self._names.read("alias", alias, found.get(alias))
