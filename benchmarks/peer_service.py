"""Libraries of nearest neighbours, each in a process of its own: what they take, and a minimal server.

`python -m benchmarks.peer_service NAME FOLDER PORT` builds. A GET of / then answers what that took, a POST of /figures
what `peer_figures` measures, and a POST of /?how=SETTING with a vector as bytes a JSON list of row numbers. The server
has no validation, no ids, no scores and no payload: less than any real service. Searches run in two threads.
"""

import asyncio
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import orjson
import uvicorn

from benchmarks.peer_figures import K, Peer, figures, memory, own_cost

M, EF_CONSTRUCTION, THREADS = 16, 128, 2
EFS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536)
PROBES = (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
FACTORS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
OVERSAMPLED = (2, 4, 8, 16)
LISTS = {100_000: 512, 1_000_000: 2048}
TRAINED = 131_072


def hubless_index(folder, recall):
    import hubless
    from hubless.knn import INDEXES
    from hubless.knn.exhaustive import openmp_threads

    targets, bank = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("targets", "bank"))
    catalog = folder / f"catalog-{recall}"
    if not catalog.exists():
        hubless.build(catalog, "peers", targets, bank, metric="dot", recall=recall, progress=False)
    collection = hubless.open(catalog, "peers")
    index = collection.manifest.index
    dim = targets.shape[1]

    def search(queries, how):
        with openmp_threads(1):
            return collection.query(queries[:, :dim], limit=K, parameters=how).rows

    ladder: dict[str, set] = {}
    for how in INDEXES[index.type].ladder(len(targets)):
        for name, value in how.items():
            ladder.setdefault(name, set()).add(value)
    return Peer(search, {name: sorted(values) for name, values in ladder.items()})


def faiss(folder, recipe):
    import faiss

    vectors = vectors_of(folder)
    recipe = recipe.format(lists=lists_of(vectors))
    index = faiss.index_factory(vectors.shape[1], recipe, faiss.METRIC_INNER_PRODUCT)
    index.train(vectors[np.random.default_rng(0).permutation(len(vectors))[:TRAINED]])
    index.add(vectors)
    faiss.omp_set_num_threads(1)
    lists = faiss.SearchParametersIVF if "IVF" in recipe else None
    graph = "HNSW" in recipe

    def search(queries, how):
        base = None
        if graph:
            base = faiss.SearchParametersHNSW(efSearch=how["ef"])
        elif lists is not None:
            base = lists(nprobe=how["nprobe"])
        given = faiss.IndexRefineSearchParameters(k_factor=how["k_factor"], base_index_params=base)
        return index.search(queries, K, params=given)[1]

    if graph:
        return Peer(search, {"ef": EFS, "k_factor": (1, 2)})
    return Peer(search, {**({} if lists is None else {"nprobe": PROBES}), "k_factor": FACTORS})


def hnswlib(folder):
    import hnswlib

    vectors = vectors_of(folder)
    index = hnswlib.Index("ip", vectors.shape[1])
    index.init_index(len(vectors), M, EF_CONSTRUCTION)
    index.add_items(vectors, num_threads=THREADS)

    def search(queries, how):
        index.set_ef(how["ef"])
        return index.knn_query(queries, K, num_threads=1)[0]

    return Peer(search, {"ef": EFS})


def usearch(folder):
    from usearch.index import Index

    vectors = vectors_of(folder)
    index = Index(ndim=vectors.shape[1], metric="ip", dtype="f16", connectivity=M, expansion_add=EF_CONSTRUCTION)
    index.add(np.arange(len(vectors)), vectors, threads=THREADS)

    def search(queries, how):
        index.expansion_search = how["ef"]
        return index.search(queries, K, threads=1).keys.reshape(len(queries), -1).astype(np.int64)

    return Peer(search, {"ef": EFS})


def qdrant_edge(folder):
    import qdrant_edge as qdrant

    vectors = vectors_of(folder)
    graph = qdrant.HnswIndexConfig(M, EF_CONSTRUCTION, 10, max_indexing_threads=THREADS)
    codes = qdrant.ScalarQuantizationConfig(qdrant.ScalarType.Int8, always_ram=True)
    parameters = qdrant.EdgeVectorParams(
        vectors.shape[1], qdrant.Distance.Dot, hnsw_config=graph, quantization_config=codes
    )
    place = folder / "qdrant"
    place.mkdir(exist_ok=True)
    shard = qdrant.EdgeShard.create(str(place), qdrant.EdgeConfig(vectors=parameters))
    for start in range(0, len(vectors), 1000):
        points = [qdrant.Point(start + i, row.tolist()) for i, row in enumerate(vectors[start : start + 1000])]
        shard.update(qdrant.UpdateOperation.upsert_points(points))
    shard.optimize()

    def search(queries, how):
        rescoring = qdrant.QuantizationSearchParams(rescore=True, oversampling=float(how["oversampling"]))
        asked = qdrant.QueryRequest(
            limit=K,
            query=qdrant.Query.Nearest(queries[0].tolist()),
            params=qdrant.SearchParams(hnsw_ef=how["ef"], quantization=rescoring),
        )
        return np.array([[point.id for point in shard.query(asked)]])

    return Peer(search, {"ef": EFS, "oversampling": OVERSAMPLED}, batched=False)


def lancedb(folder, graph):
    import lancedb
    import pyarrow as pa
    from lancedb.index import HnswSq, IvfPq

    vectors = vectors_of(folder)
    dim = vectors.shape[1]
    rows = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dim)
    table = lancedb.connect(str(folder / "lance")).create_table(
        "items", pa.table({"id": np.arange(len(vectors)), "vector": rows})
    )
    if graph:
        config = HnswSq(distance_type="dot", num_partitions=1, m=M, ef_construction=EF_CONSTRUCTION)
        ladder = {"ef": [ef for ef in EFS if ef >= 2 * K], "refine": (1, 2)}
    else:
        config = IvfPq(distance_type="dot", num_partitions=lists_of(vectors), num_sub_vectors=dim // 8)
        ladder = {"nprobe": PROBES[::2], "refine": FACTORS[::2]}  # a query takes long
    table.create_index("vector", config=config)

    def search(queries, how):
        asked = table.search(queries[0]).distance_type("dot").refine_factor(how["refine"]).limit(K)
        asked = asked.nprobes(how.get("nprobe", 1)).select(["id", "_distance"])
        found = asked.ef(how["ef"]) if graph else asked
        return found.to_arrow()["id"].to_numpy()[np.newaxis]

    return Peer(search, ladder, batched=False)


def vectors_of(folder):
    return np.load(folder / "vectors.npy")


def lists_of(vectors):
    return LISTS.get(len(vectors), 4 * int(len(vectors) ** 0.5))


RECIPES = (
    "IVF{lists},PQ66x4fs,RFlat",
    "IVF{lists},PQ132x4fs,RFlat",
    "PQ132x4fs,RFlat",
    "HNSW32_SQ8,Refine(SQfp16)",
)
LIBRARIES = {
    **{f"Faiss {recipe}": partial(faiss, recipe=recipe) for recipe in RECIPES},
    "hnswlib": hnswlib,
    "usearch": usearch,
    "LanceDB, IVF_PQ": partial(lancedb, graph=False),
    "LanceDB, HNSW_SQ": partial(lancedb, graph=True),
    "Qdrant's edge": qdrant_edge,
}
OURS = {f"hubless {recall}": partial(hubless_index, recall=recall) for recall in (0.95, 0.99)}


def create_app(peer, built, folder):
    pool = ThreadPoolExecutor(THREADS)

    def measured(body):
        asked = json.loads(body)
        queries, rows = (np.load(folder / f"{name}.npy") for name in ("queries", "rows"))
        found = figures(peer, queries, rows, asked["recalls"])
        return {"at": found, "memory_bytes": memory(os.getpid())}

    def answered(body, how):
        return peer.search(np.frombuffer(body, "<f4")[np.newaxis], how)[0]

    async def app(scope, receive, send):
        if scope["type"] != "http":
            return
        body = b""
        more = True
        while more:
            message = await receive()
            body, more = body + message["body"], message.get("more_body", False)
        work = asyncio.get_running_loop().run_in_executor
        if scope["method"] == "GET":
            found = built
        elif scope["path"] == "/figures":
            found = await work(pool, measured, body)
        else:
            found = await work(pool, answered, body, json.loads(unquote(scope["query_string"][4:].decode())))
        sent = orjson.dumps(found, option=orjson.OPT_SERIALIZE_NUMPY)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(sent))]})
        await send({"type": "http.response.body", "body": sent})

    return app


if __name__ == "__main__":
    name, place, port = sys.argv[1:]
    made, cost = own_cost(lambda: ({**LIBRARIES, **OURS})[name](Path(place)))
    uvicorn.run(create_app(made, cost, Path(place)), port=int(port), log_level="error", access_log=False)
