"""One stored version, and what differs between two."""

import asyncio
import threading
from typing import Annotated, Any

import numpy as np
import pyarrow.compute as pc
from fastapi import APIRouter, Request, Response
from pydantic import Field

import hubless
from hubless.errors import VersionNotFound
from hubless.search.collection import open_collection
from hubless.store.bundle import CANARY, Manifest, read_arrays, read_manifest
from hubless_service import openapi
from hubless_service.access.authentication import access_of
from hubless_service.app_state import AppState, state_of
from hubless_service.http import bodies, responses, values
from hubless_service.http.insights import ChangedAnswers, ChangedField, DiffAnswer, IdChanges, VersionAnswer
from hubless_service.http.problems import RETRY_AFTER, HttpProblem
from hubless_service.http.requests import RequestModel, read
from hubless_service.routes import examples_of_insights as examples
from hubless_service.routes.direct import DirectRoute
from hubless_service.searching.insight import K

router = APIRouter(route_class=DirectRoute, tags=["versions"])
_PROBLEMS = ("collection_not_found", "version_not_found", *openapi.UNSERVED)
_IDS = 20
_LONGEST_VERSION = 200
# of a manifest: what differs always, or says nothing to people
_LEFT_OUT = {"version", "created", "files", "collection", "format_version", "index.curve", "provenance.inputs"}
_comparing = threading.Lock()
"""Opening two versions takes memory and disk, so one pair at a time."""


class DiffRequest(RequestModel):
    """The URL of a comparison."""

    since: Annotated[str, values.Text(_LONGEST_VERSION)] | None = Field(
        default=None, description="The id of the other version; that of the one before if not given."
    )


@router.get(
    "/v1/collections/{collection}/versions/{version}",
    summary="One stored version",
    responses=openapi.answers(VersionAnswer, examples.VERSION_ANSWER, *_PROBLEMS),
)
async def get_version(request: Request, collection: str, version: str) -> Response:
    """What it was built from, and what was measured."""
    state = state_of(request)
    name, _ = state.shelf.slot(collection, access_of(request))
    manifest = await asyncio.to_thread(_manifest, state, name, version)
    shared = ("count", "dim", "metric", "correction", "index", "measured", "bank", "strength", "notes", "log_seq")
    dumped = manifest.model_dump(mode="json")
    return responses.send(
        {
            **{field: dumped[field] for field in ("version", "collection", "created", *shared, "payload_columns")},
            "bytes": sum(file.size for file in manifest.files.values()),
            "seed": manifest.provenance.seed,
            "versions": manifest.provenance.versions,
            "inputs": dumped["provenance"]["inputs"],
        }
    )


@router.get(
    "/v1/collections/{collection}/versions/{version}/diff",
    summary="What differs between two versions",
    responses=openapi.answers(
        DiffAnswer, examples.DIFF_ANSWER, "invalid_input", "unknown_field", "too_many_requests", *_PROBLEMS
    ),
    openapi_extra={"parameters": openapi.url_parameters(DiffRequest)},
)
async def get_diff(request: Request, collection: str, version: str) -> Response:
    """Fields of the manifest, ids, and the first ten of the canary queries. Opens both versions."""
    state = state_of(request)
    name, _ = state.shelf.slot(collection, access_of(request))
    given = bodies.url_fields(request)
    if "since" in given:
        given["since"] = request.query_params["since"]
    since = read(DiffRequest, given, _SettingsOnly(state)).since  # type: ignore[arg-type]  # no collection is asked
    return responses.send(await asyncio.to_thread(_diff, state, name, version, since))


class _SettingsOnly:
    """The subject of a request about versions that may not be open."""

    def __init__(self, state: AppState) -> None:
        self.settings = state.settings


def _manifest(state: AppState, name: str, version: str) -> Manifest:
    return read_manifest(state.engine.catalog.folder(name, version))


def _diff(state: AppState, name: str, version: str, since: str | None) -> DiffAnswer:
    catalog = state.engine.catalog
    after = _manifest(state, name, version)
    other = since or _before(catalog, name, version)
    before = _manifest(state, name, other)
    if not _comparing.acquire(blocking=False):
        raise HttpProblem("too_many_requests", "Two other versions are being compared.", headers=RETRY_AFTER)
    try:
        opened = [open_collection(catalog, name, version=each, hashes=False) for each in (other, version)]
        old, new = opened
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


def _before(catalog: hubless.Catalog, name: str, version: str) -> str:
    older = [known for known in catalog.version_ids(name) if known < version]
    if not older:
        raise VersionNotFound(f"collection {name!r} has no version before {version!r}")
    return older[-1]


def _changed(before: Manifest, after: Manifest) -> list[ChangedField]:
    old, new = (dict(_flat(manifest.model_dump(mode="json"))) for manifest in (before, after))
    names = [*new, *(name for name in old if name not in new)]
    return [
        {"field": name, "before": old.get(name), "after": new.get(name)}
        for name in names
        if old.get(name) != new.get(name)
    ]


def _flat(document: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """The fields of a document with the names of those in which they stand."""
    found = []
    for name, value in document.items():
        full = f"{prefix}{name}"
        if full in _LEFT_OUT:
            continue
        found += _flat(value, f"{full}.") if isinstance(value, dict) else [(full, value)]
    return found


def _only(held: hubless.Collection, other: hubless.Collection) -> IdChanges:
    """The ids that one version has and the other has not."""
    ids = held.stored_ids.array
    if ids.type == other.stored_ids.array.type:
        ids = ids.filter(pc.invert(pc.is_in(ids, value_set=other.stored_ids.array)))
    return {"count": len(ids), "ids": ids[:_IDS].to_pylist()}


def _canaries(catalog: hubless.Catalog, old: hubless.Collection, new: hubless.Collection) -> list[ChangedAnswers]:
    path = catalog.folder(old.name, old.version) / CANARY
    if old.dim != new.dim or not path.exists() or not (old.count and new.count):
        return []
    queries = np.ascontiguousarray(read_arrays(path)["queries"], np.float32)
    if not len(queries):
        return []
    answers = [opened.query(queries, K).ids for opened in (old, new)]
    return [
        {"before": before, "after": after, "kept": len(set(before) & set(after))}
        for before, after in zip(*answers, strict=True)
    ]
