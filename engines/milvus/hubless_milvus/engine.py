"""Milvus as an engine of hubless: a fresh collection there for each version, and an alias for the current one."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from hubless.errors import EngineError
from hubless.progress import Steps
from hubless.search.engines.external import Content, Stored
from hubless.store.bundle import EngineRecord, Manifest, SegmentRecord
from hubless_milvus.clearing import check_alias, drop, publish
from hubless_milvus.client import client_of
from hubless_milvus.entities import Entities
from hubless_milvus.kinds import KINDS, chosen_kind, milvus_kind
from hubless_milvus.loading import check_dim, create, load
from hubless_milvus.mark import Mark, check_free, check_mark
from hubless_milvus.names import collection_name
from hubless_milvus.server import Server
from hubless_milvus.targets import MilvusIndex

NAME = "milvus"


class MilvusEngine:
    """The engine `milvus`: the server that the environment names."""

    @property
    def indexes(self) -> Sequence[str]:
        return tuple(KINDS)

    def check_index(self, name: str) -> None:
        milvus_kind(name)

    def reserve(self, collection: str, version: str) -> str:
        check_alias(client_of(Server.of_environment()), collection)
        return collection_name(collection, version)

    def store(self, name: str, content: Content, index: str, steps: Steps) -> Stored:
        client = client_of(Server.of_environment())
        count, dim = content.targets.shape
        check_dim(dim)
        kind = chosen_kind(index, count, dim)
        entities = Entities.read(content.folder, count)
        check_free(client, name)
        create(client, name, entities, Mark(content.collection, content.version, count, dim))
        built = load(client, name, entities, content.targets, content.offsets, kind, steps)
        targets = MilvusIndex(
            client=client, name=name, kind=kind, count=count, dim=dim, defaults={}, fields=entities.fields
        )
        details = {"marked": content.collection, "built": built, "fields": entities.fields}
        record = EngineRecord(engine=NAME, name=name, kind=kind.name, details=details)
        return Stored(targets, record, [entities.note] if entities.note else [])

    def open(self, manifest: Manifest, segment: SegmentRecord, schema: pa.Schema | None) -> MilvusIndex:
        record, count = manifest.index.engine, segment.count - segment.bare
        if record is None:
            raise EngineError(f"version {manifest.version} is not in Milvus")
        client = client_of(Server.of_environment())
        targets = MilvusIndex(
            client=client,
            name=record.name,
            kind=milvus_kind(record.kind),
            count=count,
            dim=manifest.compared_dim,
            defaults=manifest.index.parameters,
            schema=schema,
            fields=record.details["fields"],
        )
        check_mark(client, record.name, Mark(record.details["marked"], segment.name, count, manifest.compared_dim))
        targets.load()
        if (held := targets.counted()) != count:
            raise EngineError(f"collection {record.name} in Milvus holds {held:,} vectors, and not {count:,}")
        return targets

    def publish(self, record: EngineRecord) -> None:
        publish(record.details["marked"], record.name)

    def drop(self, collection: str, names: Mapping[str, str]) -> list[str]:
        return drop(collection, names)


engine = MilvusEngine()
"""What the entry point gives."""
