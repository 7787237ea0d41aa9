"""Empty collections, which are written to later. Their first version has no targets and no correction."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from hubless.builder.banks.bank_checks import WITHOUT_BANK
from hubless.builder.inputs import write_payload
from hubless.builder.making import Made, empty_index, make_empty
from hubless.builder.recipe import Metric, check_metric
from hubless.builder.writing import manifest, write_made
from hubless.corrections.centred import CentredCorrection
from hubless.corrections.folded.none import FittedNone
from hubless.errors import (
    BundleError,
    CollectionExists,
    CollectionNotFound,
    InputError,
    StorageError,
    storage_errors,
)
from hubless.knn import write_index
from hubless.search.opening import open_parts
from hubless.store import bundle
from hubless.store.bundle import CorrectionRecord, Manifest
from hubless.store.catalog import Catalog, check_name
from hubless.vectors.free_payload import FREE_SCHEMA, is_free
from hubless.vectors.ids import write_ids
from hubless.vectors.payload import open_dataset
from hubless.vectors.payload_text import TYPES

ID_TYPES = {"int64": pa.int64(), "string": pa.large_string()}
MOST_DIM = 65_536


def create(
    catalog: str | Path,
    collection: str,
    *,
    dim: int,
    metric: Metric,
    id_type: str,
    payload_schema: Mapping[str, str] | None = None,
) -> bool:
    """Create an empty collection, to be written to. Its ranking is raw until a query bank is given.

    Parameters
    ----------
    catalog : folder of the collections; made if it is not there
    collection : its name
    dim : d, of all vectors, at most 65,536
    metric : "cosine" or "dot"
    id_type : "int64" or "string"
    payload_schema : names of types by column, as `hubless.build` takes them; none at all is no payload. None is free
        payload: any JSON object

    Returns
    -------
    Whether it was created; false if it is there already with these settings.

    Raises
    ------
    CollectionExists
        if it is there with other settings; says which.
    InputError
        naming the parameter that is wrong.
    StorageError
        if the catalog cannot be written.
    """
    check_name(collection)
    if type(dim) is not int or not 1 <= dim <= MOST_DIM:
        raise InputError("dim", f"a whole number from 1 to {MOST_DIM}", dim)
    check_metric(metric)
    if id_type not in ID_TYPES:
        raise InputError("id_type", " or ".join(ID_TYPES), repr(id_type))
    schema = _schema(payload_schema)
    home = Catalog(catalog)
    with home.creating():
        if _is_there(home, collection):
            try:
                _compare(home, collection, dim, metric, id_type, schema)
            except (CollectionNotFound, BundleError, StorageError):
                if _is_there(home, collection):  # or it was deleted while it was compared
                    raise
            else:
                return False
        with home.staging(collection) as staged, storage_errors(staged.folder):
            made = make_empty(dim, CentredCorrection(FittedNone(), 0.0), None)
            write_ids(pa.array([], ID_TYPES[id_type]), staged.folder / bundle.IDS)
            if len(schema):
                write_payload(open_dataset(schema.empty_table()), schema.names, staged.folder)
            write_index(empty_index(dim), staged.folder / bundle.INDEX)
            write_made(made, staged.folder)
            staged.publish(_manifest(made, collection, staged.version, metric, id_type, schema))
    return True


def _schema(types: Mapping[str, str] | None) -> pa.Schema:
    if types is None:
        return FREE_SCHEMA
    for name, kind in types.items():
        if not isinstance(name, str) or kind not in TYPES:
            raise InputError(f"payload_schema.{name}", f"one of {', '.join(TYPES)}", repr(kind))
    return pa.schema([(name, TYPES[kind]) for name, kind in types.items()])


def _is_there(home: Catalog, collection: str) -> bool:
    try:
        home.current(collection)
    except CollectionNotFound:
        return False
    return True


def _compare(home: Catalog, name: str, dim: int, metric: str, id_type: str, schema: pa.Schema) -> None:
    parts = open_parts(home, name, hashes=False, lenient=True)
    held = pa.schema([]) if parts.payload is None else parts.payload.schema
    known = parts.manifest
    both = {
        "dim": (known.dim, dim),
        "metric": (known.metric, metric),
        "id_type": (known.id_type, id_type),
        "payload_schema": (_said(held), _said(schema)),
    }
    if other := [f"{what} is {there}, not {wanted}" for what, (there, wanted) in both.items() if there != wanted]:
        raise CollectionExists(f"collection {name!r} is there with other settings: {'; '.join(other)}")


def _said(schema: pa.Schema) -> str:
    if is_free(schema):
        return "free JSON"
    return ", ".join(f"{field.name} {field.type}" for field in schema) or "no payload"


def _manifest(made: Made, name: str, version: str, metric: str, id_type: str, schema: pa.Schema) -> Manifest:
    return manifest(
        made,
        CorrectionRecord(name="none", parameters={}, details={}),
        ID_TYPES[id_type],
        schema.names,
        None,
        {},
        collection=name,
        version=version,
        metric=metric,
        seed=0,
        notes=[WITHOUT_BANK],
    )
