"""hubless over HTTP, raw: VectorDBBench asks for the nearest neighbours, and a new collection has no correction."""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

from hubless_client import ApiCollectionNotFound, ApiError, Client, ClientError

from vectordb_bench.backend.filter import Filter, FilterOp

from ..api import DBCaseConfig, VectorDB

BATCH = 1000
SCHEMA = {"id": "int64", "label": "string"}


class Hubless(VectorDB):
    supported_filter_types = [FilterOp.NonFilter, FilterOp.NumGE, FilterOp.StrEqual]
    name = "Hubless"

    def __init__(
        self,
        dim: int,
        db_config: dict,
        db_case_config: DBCaseConfig,
        collection_name: str = "vectordbbench",
        drop_old: bool = False,
        **kwargs: Any,
    ) -> None:
        self._config = db_config
        self._collection = collection_name
        self._search = db_case_config.search_param()
        self._filter: dict | None = None
        self._client: Client | None = None
        with self._connected() as client:
            if drop_old:
                with suppress(ApiCollectionNotFound):
                    client.delete_collection(collection_name)
            client.create_collection(collection_name, dim, db_case_config.index_param()["metric"], "int64", SCHEMA)

    def _connected(self) -> Client:
        return Client(self._config["url"], api_key=self._config["api_key"], timeout=600)

    @contextmanager
    def init(self) -> Generator[None, None, None]:
        with self._connected() as self._client:
            yield
        self._client = None

    def prepare_filter(self, filters: Filter) -> None:
        if filters.type == FilterOp.NumGE:
            self._filter = {"field": filters.int_field, "gte": filters.int_value}
        elif filters.type == FilterOp.StrEqual:
            self._filter = {"field": "label", "eq": filters.label_value}
        else:
            self._filter = None

    def insert_embeddings(
        self, embeddings: list[list[float]], metadata: list[int], labels_data: list[str] | None = None, **kwargs: Any
    ) -> tuple[int, Exception | None]:
        labels = labels_data or [None] * len(metadata)
        done = 0
        try:
            for start in range(0, len(metadata), BATCH):
                some = slice(start, start + BATCH)
                rows = [{"id": row, "label": label} for row, label in zip(metadata[some], labels[some], strict=True)]
                self._client.put(self._collection, metadata[some], embeddings[some], rows)
                done += len(rows)
        except (ApiError, ClientError) as error:
            return done, error
        return done, None

    def search_embedding(self, query: list[float], k: int = 100, **kwargs: Any) -> list[int]:
        hits = self._client.query(self._collection, query, limit=k, filter=self._filter, params=self._search or None)
        return [hit.id for hit in hits]

    def optimize(self, data_size: int | None = None) -> None:
        """Merges and compactions run by themselves; what was written is searched at once."""
