"""Serve other nearest-neighbour libraries with a minimal server: `python -m benchmarks.peer_service NAME VECTORS PORT`.

The body is one vector as bytes, the answer a JSON list of row numbers; `?ef=` sets the effort. It has no validation,
no ids, no scores and no payload: less than any real service. Searches run in two threads.
"""

import asyncio
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import orjson
import uvicorn

K, M, EF_CONSTRUCTION, THREADS = 10, 16, 128, 2


def hnswlib(vectors):
    import hnswlib

    index = hnswlib.Index("ip", vectors.shape[1])
    index.init_index(len(vectors), M, EF_CONSTRUCTION)
    index.add_items(vectors, num_threads=THREADS)

    def search(query, ef):
        index.set_ef(ef)
        return index.knn_query(query, K, num_threads=1)[0][0]

    return search


def usearch(vectors):
    from usearch.index import Index

    index = Index(ndim=vectors.shape[1], metric="ip", dtype="f32", connectivity=M, expansion_add=EF_CONSTRUCTION)
    index.add(np.arange(len(vectors)), vectors, threads=THREADS)

    def search(query, ef):
        index.expansion_search = ef
        return index.search(query, K, threads=1).keys.astype(np.int64)

    return search


def qdrant_edge(vectors):
    import qdrant_edge as qdrant

    graph = qdrant.HnswIndexConfig(M, EF_CONSTRUCTION, 10, max_indexing_threads=THREADS)
    parameters = qdrant.EdgeVectorParams(vectors.shape[1], qdrant.Distance.Dot, hnsw_config=graph)
    shard = qdrant.EdgeShard.create(tempfile.mkdtemp(), qdrant.EdgeConfig(vectors=parameters))
    for start in range(0, len(vectors), 1000):
        points = [qdrant.Point(start + i, row.tolist()) for i, row in enumerate(vectors[start : start + 1000])]
        shard.update(qdrant.UpdateOperation.upsert_points(points))
    shard.optimize()

    def search(query, ef):
        asked = qdrant.QueryRequest(
            limit=K, query=qdrant.Query.Nearest(query.tolist()), params=qdrant.SearchParams(hnsw_ef=ef)
        )
        return np.array([point.id for point in shard.query(asked)])

    return search


def lancedb(vectors):
    import lancedb
    import pyarrow as pa
    from lancedb.index import HnswSq

    rows = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    table = lancedb.connect(tempfile.mkdtemp()).create_table(
        "items", pa.table({"id": np.arange(len(vectors)), "vector": rows})
    )
    graph = HnswSq(distance_type="dot", num_partitions=1, m=M, ef_construction=EF_CONSTRUCTION)
    table.create_index("vector", config=graph)

    def search(query, ef):
        found = table.search(query).distance_type("dot").nprobes(1).ef(ef).refine_factor(2).limit(K)
        return found.select(["id", "_distance"]).to_arrow()["id"].to_numpy()

    return search


LIBRARIES = {"hnswlib": hnswlib, "usearch": usearch, "qdrant_edge": qdrant_edge, "lancedb": lancedb}


def create_app(search):
    pool = ThreadPoolExecutor(THREADS)

    async def app(scope, receive, send):
        if scope["type"] != "http":
            return
        body = (await receive())["body"]
        found = b""
        if body:
            ef = int(scope["query_string"].partition(b"=")[2])
            work = asyncio.get_running_loop().run_in_executor
            found = orjson.dumps(
                await work(pool, search, np.frombuffer(body, "<f4"), ef), option=orjson.OPT_SERIALIZE_NUMPY
            )
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(found))]})
        await send({"type": "http.response.body", "body": found})

    return app


if __name__ == "__main__":
    name, path, port = sys.argv[1:]
    uvicorn.run(create_app(LIBRARIES[name](np.load(path))), port=int(port), log_level="error", access_log=False)
