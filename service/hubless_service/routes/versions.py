"""The versions of a collection: all that are stored, which one is served, and what differs between two."""

import logging
import threading
from asyncio import to_thread
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc
from fastapi import Response

from hubless import Catalog, Collection, VersionInfo
from hubless.errors import VersionNotFound
from hubless.search.collection import open_collection
from hubless.store.bundle import CANARY, Manifest, read_arrays, read_manifest
from hubless_service.http.answers import (
    ChangedAnswers,
    ChangedField,
    DiffAnswer,
    IdChanges,
    VersionAnswer,
    VersionsAnswer,
    VersionState,
)
from hubless_service.http.problems import HttpProblem
from hubless_service.http.requests import DiffRequest
from hubless_service.http.responses import send
from hubless_service.routes.route import AdminAccess, Call, OwnName, UrlOf, routes_of
from hubless_service.searching.search_service import SearchService
from hubless_service.searching.shelf import Slot, as_problem

_log = logging.getLogger("hubless.administration")
version_routes = routes_of("versions")
_PATH = "/v1/collections/{collection}/versions"
_IDS = 20
_CANARY_HITS = 10
# of a manifest: what differs always, or says nothing to people
_LEFT_OUT = {"version", "created", "files", "collection", "format_version", "index.curve", "provenance.inputs"}
_comparing = threading.Lock()
"""Opening two versions takes memory and disk, so one pair at a time."""


@version_routes.at("GET", _PATH, "All versions of a collection", VersionsAnswer)
async def list_versions(call: Call, name: OwnName) -> Response:
    """Works for a collection that cannot be served too, and gives the reason."""
    return send(await _versions(call.engine, name))


@version_routes.at(
    "POST", f"{_PATH}/{{version}}/activate", "Serve another version", VersionsAnswer, "version_not_found"
)
async def activate(call: Call, name: OwnName, access: AdminAccess, version: str) -> Response:
    """Compares the files of the version with its manifest, which may take a while, and makes it current.

    The server then opens and proves it beside the version that it serves, as after a build. It serves or refuses it.
    Requests to all workers see it from the answer on. If the time of the request is too short, GET .../versions says
    how far it is.
    """
    engine = call.engine
    await to_thread(engine.catalog.rollback, name, version)
    _log.info('collection "%s": version %s was activated, id=%s', name, version, call.trace.request_id)
    if await engine.freshness.serves_current(
        call.trace, name
    ):  # else the version before is served on, and nobody waits
        await engine.freshness.answer(name)
    return send(await _versions(engine, name))


@version_routes.at("GET", f"{_PATH}/{{version}}", "One stored version", VersionAnswer, "version_not_found")
async def get_version(call: Call, name: OwnName, version: str) -> Response:
    """The inputs of the version, and its measurements."""
    manifest = await to_thread(lambda: read_manifest(call.engine.catalog.folder(name, version)))
    dumped = manifest.model_dump(mode="json")
    return send(
        {
            **{field: dumped[field] for field in VersionAnswer.__annotations__ if field in dumped},
            "bytes": sum(file.size for file in manifest.files.values()),
            "seed": manifest.provenance.seed,
            "versions": manifest.provenance.versions,
            "inputs": dumped["provenance"]["inputs"],
        }
    )


@version_routes.at(
    "GET",
    f"{_PATH}/{{version}}/diff",
    "What differs between two versions",
    DiffAnswer,
    "too_many_requests",
    "version_not_found",
)
async def get_diff(call: Call, name: OwnName, version: str, url: UrlOf[DiffRequest]) -> Response:
    """Fields of the manifest, ids, and the first ten of the canary queries. Opens both versions."""
    return send(await to_thread(_diff, call.engine.catalog, name, version, url.since))


async def _versions(engine: SearchService, name: str) -> VersionsAnswer:
    slot = engine.shelf.known(name)
    found = await to_thread(engine.catalog.versions, name)
    return {"versions": [_state(info, slot) for info in found], "collection": name}


def _state(info: VersionInfo, slot: Slot) -> VersionState:
    """Return what is told of a stored version: whether it is served, and else why not."""
    state: Literal["served", "refused", "damaged", "stored"] = "stored"
    detail = None
    if slot.collection and slot.collection.version == info.id:
        state = "served"
    elif slot.failure and slot.tried == info.id:
        state, detail = "refused", as_problem(slot.failure).detail
    elif info.problem:
        # without the path: clients do not see where things lie on the server
        state, detail = "damaged", info.problem.rpartition(f"{info.id}/")[2]
    return {
        "version": info.id,
        "created": info.manifest.created if info.manifest else None,
        "count": info.manifest.count if info.manifest else None,
        "current": info.current,
        "state": state,
        "detail": detail,
    }


def _diff(catalog: Catalog, name: str, version: str, since: str | None) -> DiffAnswer:
    """Compare a version with another, by default the one before. Opens both; refused while two others are compared."""
    after = read_manifest(catalog.folder(name, version))
    if not (other := since or max((known for known in catalog.version_ids(name) if known < version), default="")):
        raise VersionNotFound(f"collection {name!r} has no version before {version!r}")
    before = read_manifest(catalog.folder(name, other))
    if not _comparing.acquire(blocking=False):
        raise HttpProblem("too_many_requests", "Two other versions are being compared.")
    try:
        old, new = (open_collection(catalog, name, version=each, hashes=False) for each in (other, version))
        return {
            "version": version,
            "since": other,
            "collection": name,
            "fields": _changed(before, after),
            "added": _only(new, old),
            "removed": _only(old, new),
            "canaries": _canaries(catalog, old, new),
        }
    finally:
        _comparing.release()


def _changed(before: Manifest, after: Manifest) -> list[ChangedField]:
    old, new = (dict(_flat(manifest.model_dump(mode="json"))) for manifest in (before, after))
    return [
        {"field": name, "before": old.get(name), "after": new.get(name)}
        for name in new | old
        if old.get(name) != new.get(name)
    ]


def _flat(document: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields of a document with the names of those in which they stand."""
    for name, value in document.items():
        if (full := f"{prefix}{name}") not in _LEFT_OUT:
            yield from _flat(value, f"{full}.") if isinstance(value, dict) else [(full, value)]


def _only(held: Collection, other: Collection) -> IdChanges:
    """The ids that one version has and the other has not."""
    ids = held.parts.ids.array
    if ids.type == other.parts.ids.array.type:
        ids = ids.filter(pc.invert(pc.is_in(ids, value_set=other.parts.ids.array)))
    return {"count": len(ids), "ids": ids[:_IDS].to_pylist()}


def _canaries(catalog: Catalog, old: Collection, new: Collection) -> list[ChangedAnswers]:
    path = catalog.folder(old.name, old.version) / CANARY
    alike = old.parts.space.asks_like(new.parts.space)
    if not alike or not path.exists() or not (old.count and new.count):
        return []
    queries = np.ascontiguousarray(read_arrays(path)["queries"], np.float32)
    if not len(queries):
        return []
    asked = old.parts.space.plain(queries)
    answers = [opened.query(asked, _CANARY_HITS).ids for opened in (old, new)]
    return [
        {"before": before, "after": after, "kept": len(set(before) & set(after))}
        for before, after in zip(*answers, strict=True)
    ]
