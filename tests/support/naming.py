"""Requests about the names of a catalog, and what their answers tell the history of names."""

from support.catalog_history import ANY, DONE, NONE, THERE, Stands

NEW = {"dim": 4, "metric": "cosine", "id_type": "string"}
MARKED = "marked"
"""The one point of a collection that is created and deleted: it is put anew."""


def request_of(attempt, durability="disk"):
    """Method, path, body and headers of a change."""
    name, value = attempt.name, attempt.value
    if attempt.match is None:
        headers = {}
    elif attempt.match == NONE:
        headers = {"if-none-match": "*"}
    else:
        headers = {"if-match": "*" if attempt.match == ANY else f'"{attempt.match}"'}
    point = {"id": MARKED, "vector": [1.0] * NEW["dim"], "payload": {"title": value}}
    method, path, body = {
        "put alias": ("PUT", f"aliases/{name}", {"collection": value}),
        "delete alias": ("DELETE", f"aliases/{name}", None),
        "create": ("PUT", f"collections/{name}", NEW),
        "delete": ("DELETE", f"collections/{name}?aliases={'true' if value else 'false'}", None),
        "mark": ("PUT", f"collections/{name}/points", {"points": [point], "durability": durability}),
        "activate": ("POST", f"collections/{name}/versions/{value}/activate", None),
    }[attempt.kind]
    return method, f"/v1/{path}", body, headers


def told_of(attempt, status, document):
    """What an answer to a change tells, as `CatalogHistory.answered` takes it."""
    if status >= 400:
        return document["code"]
    if "alias" in attempt.kind:
        return stands_of(document)
    return THERE if (attempt.kind, status) == ("create", 200) else DONE


def stands_of(document):
    return Stands(document["collection"], int(document["etag"].strip('"')))


class Reader:
    """Reads names, and notes in a history what it is told. `ask(method, path, body)` gives status and document."""

    def __init__(self, history, ask, other):
        """`other` is a collection whose versions the history does not know."""
        self._history, self._ask, self._other = history, ask, other

    def _get(self, path):
        """The moment at which a request begins, and its answer."""
        return self._history.moment(), *self._ask("GET", f"/v1/{path}", None)

    def alias(self, alias):
        began, status, document = self._get(f"aliases/{alias}")
        found = stands_of(document) if status == 200 else None
        self._history.read(began, "alias", alias, found)
        return found

    def by_alias(self, alias):
        self._served(alias, "name", *self._get(f"collections/{alias}"))

    def query(self, alias):
        began = self._history.moment()
        answer = self._ask("POST", f"/v1/collections/{alias}/query", {"vector": [1.0] * NEW["dim"]})
        self._served(alias, "collection", began, *answer)

    def _served(self, alias, field, began, status, document):
        """An alias and a version are two reads: a worker takes changes of the two one after the other."""
        name = document[field] if status == 200 else None
        self._history.read(began, "stands", alias, name)
        if name not in (None, self._other):
            self._history.read(began, "version", name, document["version"])

    def collection(self, name):
        began, status, document = self._get(f"collections/{name}")
        self._history.read(began, "version", name, document["version"] if status == 200 else None)

    def mark(self, name):
        began, status, document = self._get(f"collections/{name}/points/{MARKED}")
        self._history.read(began, "read mark", name, document["payload"]["title"] if status == 200 else None)
        self._history.read(began, "there", name, document.get("code") != "collection_not_found")

    def versions(self, name):
        began, _, document = self._get(f"collections/{name}/versions")
        for each in document["versions"]:
            if each["state"] == "served":
                self._history.read(began, "version", name, each["version"])

    def aliases(self, aliases):
        began, _, document = self._get("aliases")
        found = {each["alias"]: stands_of(each) for each in document["aliases"]}
        for alias in aliases:
            self._history.read(began, "alias", alias, found.get(alias))

    def collections(self, names):
        began, _, document = self._get("collections")
        found = {each["name"]: each["version"] for each in document["collections"]}
        for name in names:
            self._history.read(began, "version", name, found.get(name))
