"""This service beside others that pip installs: `python -m benchmarks.peers [--targets 100000] [--only NAME ...]`.

All hold the same folded vectors, with the cheapest `ef` that reaches the recall. Chroma and pgvector run as servers,
libraries behind a minimal HTTP server.
"""

import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, sleep

import httpx
import numpy as np

import hubless
from benchmarks import harness, http_service
from benchmarks.peer_service import EF_CONSTRUCTION, LIBRARIES, M
from hubless.kernels.reductions import rankings
from hubless.knn.augment import augment_queries
from hubless.vectors.sources import as_source

DIM, BANK, QUERIES, K, CONNECTIONS = 512, 2000, 200, 10, (1, 8)
EFS = (32, 64, 128, 256, 512, 1024)
CHROMA_PATH = "/api/v2/tenants/default_tenant/databases/default_database/collections/{}/query"
PACKAGES = (*harness.PACKAGES, "chromadb", "hnswlib", "lancedb", "pgserver", "psycopg", "qdrant-edge-py", "usearch")


class Side:
    """A running service: how to ask it once, and how to load it."""

    def __init__(self, ask, load, efs=(None,)):
        self.ask, self.load, self.efs = ask, load, efs


def asked_over_http(url, body, ids):
    answer = httpx.post(url, content=body)
    answer.raise_for_status()
    return ids(answer.json())


@contextmanager
def this_service(data, binary):
    with http_service.hubless_service(data.catalog, "peers") as server:

        def ask(number, ef):
            body = json.dumps({"vector": data.queries[number].tolist()}).encode()
            answer = httpx.post(server.url, content=body, headers={"Content-Type": "application/json"})
            return [hit["id"] for hit in answer.json()["hits"]]

        def load(connections, seconds, ef):
            return http_service.load(server, data.plain, connections, seconds, *(["--binary"] if binary else []))

        yield Side(ask, load)


@contextmanager
def library(name, data):
    port = http_service.free_port()
    url = f"http://127.0.0.1:{port}"
    command = ["-m", "benchmarks.peer_service", name, str(data.vectors), str(port)]
    with http_service.process(url, command) as pid:

        def ask(number, ef):
            return asked_over_http(f"{url}/?ef={ef}", data.folded[number].tobytes(), list)

        def load(connections, seconds, ef):
            side = http_service.Side(f"{url}/?ef={ef}", pid)
            return http_service.load(side, data.augmented, connections, seconds, "--binary")

        yield Side(ask, load, EFS)


@contextmanager
def chroma(data):
    import chromadb

    port = http_service.free_port()
    with tempfile.TemporaryDirectory() as folder:
        command = [str(Path(sys.executable).parent / "chroma"), "run", "--path", folder, "--port", str(port)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            base = f"http://127.0.0.1:{port}"
            while not answers(f"{base}/api/v2/heartbeat"):
                sleep(0.1)
            client = chromadb.HttpClient("127.0.0.1", port, settings=chromadb.Settings(anonymized_telemetry=False))
            graph = {"space": "ip", "max_neighbors": M, "ef_construction": EF_CONSTRUCTION, "num_threads": 2}
            collection = client.create_collection("peers", configuration={"hnsw": graph}, embedding_function=None)
            vectors = np.load(data.vectors)
            for start in range(0, len(vectors), 1000):
                block = vectors[start : start + 1000]
                collection.add([str(start + i) for i in range(len(block))], block)
            url = base + CHROMA_PATH.format(collection.id)

            at = None

            def tuned(ef):
                nonlocal at
                if at != ef:
                    collection.modify(configuration={"hnsw": {"ef_search": ef}})
                    at = ef

            def ask(number, ef):
                tuned(ef)
                body = {"query_embeddings": [data.folded[number].tolist()], "n_results": K, "include": ["distances"]}
                return asked_over_http(url, json.dumps(body), lambda answer: [int(each) for each in answer["ids"][0]])

            def load(connections, seconds, ef):
                tuned(ef)
                side = http_service.Side(url, server.pid)
                return http_service.load(side, data.augmented, connections, seconds, "--chroma")

            yield Side(ask, load, EFS)
        finally:
            server.terminate()
            server.wait(30)


@contextmanager
def pgvector(data):
    import pgserver
    import psycopg

    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        server = pgserver.get_server(folder, cleanup_mode="delete")
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                vectors = np.load(data.vectors)
                connection.execute("CREATE EXTENSION vector")
                connection.execute(f"CREATE TABLE items (id int, v vector({vectors.shape[1]}))")
                connection.execute("SET maintenance_work_mem = '2GB'")
                with connection.cursor().copy("COPY items FROM STDIN") as copy:
                    for number, row in enumerate(vectors):
                        copy.write_row((number, as_text(row)))
                connection.execute(
                    "CREATE INDEX ON items USING hnsw (v vector_ip_ops) "
                    f"WITH (m = {M}, ef_construction = {EF_CONSTRUCTION})"
                )

                def ask(number, ef):
                    connection.execute(f"SET hnsw.ef_search = {ef}")
                    return [row[0] for row in connection.execute(QUESTION, (as_text(data.folded[number]),))]

                def load(connections, seconds, ef):
                    with multiprocessing.get_context("spawn").Pool(1) as pool:
                        given = server.get_uri(), str(data.augmented), connections, seconds, ef
                        return pool.apply(load_pgvector, given)

                yield Side(ask, load, [ef for ef in EFS if ef <= 1000])
        finally:
            server.cleanup()


QUESTION = "SELECT id FROM items ORDER BY v <#> %s::vector LIMIT 10"


def as_text(row):
    return f"[{','.join(map(str, row.tolist()))}]"


def load_pgvector(uri, queries, connections, seconds, ef):
    """Load pgvector like `benchmarks.load`, one thread a connection."""
    import psycopg

    texts = [as_text(row) for row in np.load(queries)]
    taken, end = [], perf_counter() + seconds

    def ask(number):
        with psycopg.connect(uri, autocommit=True, prepare_threshold=1) as connection:
            connection.execute(f"SET hnsw.ef_search = {ef}")
            while (started := perf_counter()) < end:
                connection.execute(QUESTION, (texts[number % len(texts)],)).fetchall()
                taken.append(perf_counter() - started)
                number += 1

    threads = [threading.Thread(target=ask, args=(17 * i,)) for i in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"rate": len(taken) / seconds, "p50_ms": 1e3 * float(np.median(taken)), "cpu_ms": None}


def answers(url):
    try:
        return httpx.get(url).status_code == 200
    except httpx.TransportError:
        return False


SIDES = {
    "hubless, JSON": ("hubless", partial(this_service, binary=False)),
    "hubless, binary": ("hubless", partial(this_service, binary=True)),
    "Chroma": ("chromadb", chroma),
    "pgvector": ("pgserver psycopg", pgvector),
    **{name: (name, partial(library, name)) for name in LIBRARIES},
}


class Data:
    """Vectors and queries of all sides; in files where a process reads them."""

    def __init__(self, folder, count):
        targets, bank, self.queries = harness.with_hubs(count, BANK, QUERIES, DIM)
        self.catalog = folder / "catalog"
        hubless.build(self.catalog, "peers", targets, bank, metric="dot", progress=False)
        offsets = hubless.open(self.catalog, "peers").offsets
        ((_, self.rows),) = rankings(self.queries, as_source(targets, "targets"), K, offsets)
        self.folded = augment_queries(self.queries, 1.0)
        folded = np.zeros((count, self.folded.shape[1]), np.float32)
        folded[:, :DIM], folded[:, DIM] = targets, -offsets
        self.plain, self.augmented, self.vectors = (
            folder / f"{name}.npy" for name in ("plain", "augmented", "vectors")
        )
        for path, array in ((self.plain, self.queries), (self.augmented, self.folded), (self.vectors, folded)):
            np.save(path, array)


def recall(side, data, ef):
    found = [len(np.intersect1d(side.ask(number, ef), data.rows[number])) for number in range(QUERIES)]
    return float(np.mean(found)) / K


def measure(open_side, data, options):
    started = perf_counter()
    with open_side(data) as side:
        ready = perf_counter() - started
        for ef in side.efs:
            reached = recall(side, data, ef)
            if reached >= options.recall:
                break
        runs = {}
        for connections in CONNECTIONS:
            several = [side.load(connections, options.seconds, ef) for _ in range(options.rounds)]
            runs[str(connections)] = sorted(several, key=lambda run: run["rate"])[options.rounds // 2]
    return {"ef": ef, "recall": reached, "ready_s": ready, "runs": runs}


def tables(result):
    columns = [f"{result['targets']:,} × {DIM}", "recall@10"]
    columns += [f"answers/s, {connections} conn." for connections in CONNECTIONS]
    return [[columns, *(row(name, line) for name, line in result["sides"].items())]]


def row(name, line):
    cells = [name, f"{line['recall']:.3f}"]
    return cells + [f"{run['rate']:,.0f}" for run in line["runs"].values()]


def plot(result, figure):
    """Draw answers a second."""
    axes = figure.subplots()
    sides = result["sides"]
    for place, connections in enumerate(result["sides"]["hubless, JSON"]["runs"]):
        rates = [line["runs"][connections]["rate"] for line in sides.values()]
        axes.barh(np.arange(len(sides)) + 0.4 * place, rates, 0.4, label=f"{connections} connections")
    axes.set(yticks=np.arange(len(sides)) + 0.2, yticklabels=list(sides), xlabel="answers a second")
    axes.invert_yaxis()
    axes.legend()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=100_000)
    parser.add_argument("--only", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--recall", type=float, default=0.95)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    measured = {}
    with ExitStack() as stack:
        data = Data(Path(stack.enter_context(tempfile.TemporaryDirectory())), options.targets)
        for name in options.only:
            modules, open_side = SIDES[name]
            if missing := [module for module in modules.split() if find_spec(module) is None]:
                print(f"without {name}: {missing[0]} is not installed", flush=True)
                continue
            measured[name] = measure(open_side, data, options)
            print(name, measured[name], flush=True)
    harness.write("peers", {"targets": options.targets, "sides": measured}, plot, PACKAGES, tables)


if __name__ == "__main__":
    main()
