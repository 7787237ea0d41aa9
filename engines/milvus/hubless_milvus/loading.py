"""Loading the targets of a version into a fresh Milvus collection: entities → count → index → loaded."""

import time
from collections.abc import Callable
from typing import Any

from hubless.errors import EngineError, InputError
from hubless.progress import Steps
from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource
from hubless_milvus.client import Client, again
from hubless_milvus.columns import INT64, LONGEST_TEXT, MOST_ELEMENTS, VARCHAR
from hubless_milvus.entities import Entities
from hubless_milvus.kinds import METRIC, MilvusKind
from hubless_milvus.mark import PROPERTY, Mark
from hubless_milvus.names import ID, OFFSET, ROW, VECTOR

SECONDS = 60.0
"""For one call."""
FLUSH_SECONDS = 3600.0
POLL_SECONDS = 0.5
MOST_DIM, LEAST_DIM = 32_768, 2
"""Of a vector in Milvus."""


def check_dim(dim: int) -> None:
    """Raise `InputError` if Milvus cannot hold vectors of d dimensions with their offset."""
    if not LEAST_DIM <= dim + 1 <= MOST_DIM:
        raise InputError("targets", f"at most {MOST_DIM - 1:,} dimensions, as the engine is milvus", f"{dim:,}")


def create(client: Client, name: str, entities: Entities, mark: Mark) -> None:
    """Make the collection of a version. Nobody has its name (see `check_free`)."""
    from pymilvus import CollectionSchema, DataType, FieldSchema

    def field(name: str, type_: str, listed: bool = False, **more: Any) -> FieldSchema:
        if type_ == VARCHAR:
            more["max_length"] = LONGEST_TEXT
        if listed:
            more |= {"element_type": DataType[type_], "max_capacity": MOST_ELEMENTS}
        return FieldSchema(name, DataType.ARRAY if listed else DataType[type_], **more)

    fields = [
        field(ROW, INT64, is_primary=True, auto_id=False),
        field(VECTOR, "FLOAT_VECTOR", dim=mark.dim + 1),
        field(ID, entities.id_type),
        field(OFFSET, "FLOAT"),
        *(field(each.field, each.type, each.listed, nullable=True) for each in entities.columns.values()),
    ]
    schema = CollectionSchema(fields, description=mark.text(), enable_dynamic_field=False)
    # the double forgets descriptions, and shows properties
    named = {"schema": schema, "properties": {PROPERTY: mark.text()}, "consistency_level": "Bounded"}
    client.call("create_collection", name, seconds=SECONDS, **named)


def load(
    client: Client, name: str, entities: Entities, targets: VectorSource, offsets: F32, kind: MilvusKind, steps: Steps
) -> dict[str, int]:
    """Fill a collection, count it, build its index, and let Milvus load it. Return what the index was built with.

    Raises `EngineError` if Milvus refuses, does not answer again and again, or holds another number of targets than
    were sent.
    """
    count = targets.shape[0]
    _upsert(client, name, entities, targets, offsets, steps)
    built = kind.built(count)
    _index(client, name, kind, built, steps.step(f"building the {kind.name} index in Milvus", count))
    steps.step("loading the index in Milvus")
    again(lambda: client.call("load_collection", name, seconds=FLUSH_SECONDS))
    [found] = client.call("query", name, filter="", output_fields=["count(*)"], consistency_level="Strong")
    if (held := int(found["count(*)"])) != count:
        raise EngineError(f"collection {name} in Milvus holds {held:,} targets, and {count:,} were sent")
    return built


def _upsert(client: Client, name: str, entities: Entities, targets: VectorSource, offsets: F32, steps: Steps) -> None:
    advance = steps.step("loading into Milvus", targets.shape[0])
    for batch in entities.batches(targets, offsets):
        # not insert: a batch that is sent once more must not be there twice
        again(lambda batch=batch: client.call("upsert", name, batch, seconds=SECONDS))  # type: ignore[misc]
        advance(len(batch))
    steps.step("flushing in Milvus")
    again(lambda: client.call("flush", name, seconds=FLUSH_SECONDS))


def _index(client: Client, name: str, kind: MilvusKind, built: dict[str, int], advance: Callable[[int], None]) -> None:
    from pymilvus.milvus_client import IndexParams

    wanted = IndexParams()
    wanted.add_index(VECTOR, index_type=kind.type, metric_type=METRIC, index_name=VECTOR, params=built)
    again(lambda: client.call("create_index", name, wanted, seconds=SECONDS, sync=False))
    done = 0
    while True:
        told = again(lambda: client.call("describe_index", name, VECTOR, seconds=SECONDS))
        indexed = int(told.get("indexed_rows", 0))
        advance(max(0, indexed - done))
        done = max(done, indexed)
        if told.get("state") == "Failed":
            raise EngineError(
                f"Milvus could not build the index of collection {name}: {told.get('index_state_fail_reason')}"
            )
        if told.get("state") == "Finished" and not int(told.get("pending_index_rows", 0)):
            return
        time.sleep(POLL_SECONDS)
