"""Load an export into Chroma and ask it, with the hubness taken out of the ranking.

    pip install numpy pyarrow 'chromadb>=1.0'
    python recipe.py load     # then `check queries.npy` and `query queries.npy`, see recipe_base.py

Tested with Chroma 1.5, in one process.
"""

import json
import os
from urllib.parse import urlsplit

import chromadb
from recipe_base import HERE, NAME, STRENGTH, WHOLE_IDS, augmented, blocks, main, refuse_unless

URL = os.environ.get("CHROMA_URL", str(HERE / "chroma"))
"""A folder, for Chroma in this process; or of a server. Chroma's own port is 8000, which hubless has too."""


def connect():
    """Return a client of Chroma."""
    settings = chromadb.Settings(anonymized_telemetry=False)
    if not URL.startswith("http"):
        return chromadb.PersistentClient(URL, settings)
    address = urlsplit(URL)
    secure = address.scheme == "https"
    token = os.environ.get("CHROMA_TOKEN")
    headers = {"X-Chroma-Token": token} if token else None
    port = address.port or (443 if secure else 80)
    return chromadb.HttpClient(address.hostname, port, ssl=secure, headers=headers, settings=settings)


def load(client, replace):
    """Load all targets, as they stand in targets.parquet."""
    if NAME in [each.name for each in client.list_collections(limit=1_000_000)]:
        refuse_unless(replace)
        client.delete_collection(NAME)
    # ip, not cosine: that would divide by the length, and the offset with it
    graph = {"space": "ip", "ef_construction": 200, "ef_search": 200}
    collection = client.create_collection(NAME, configuration={"hnsw": graph}, embedding_function=None)
    for ids, vectors, payloads in blocks(min(1000, client.get_max_batch_size()), parsed=False):
        # Chroma has no null and no lists of objects: JSON stays text
        metadata = [{key: value for key, value in each.items() if value is not None} or None for each in payloads]
        collection.upsert([str(each) for each in ids], vectors, metadata)


def query(client, vector, limit=10, strength=STRENGTH, where=None):
    """Return ids and corrected scores of the best targets, best first.

    `where` is JSON, as `{"year": {"$gte": 2000}}`.
    """
    collection = client.get_collection(NAME, embedding_function=None)
    wanted = None if where is None else json.loads(where)
    asked = augmented(vector, strength)[None]
    found = collection.query(asked, n_results=limit, where=wanted, include=["distances"])
    ids = [int(each) if WHOLE_IDS else each for each in found["ids"][0]]
    return [(wanted, 1 - distance) for wanted, distance in zip(ids, found["distances"][0], strict=True)]


if __name__ == "__main__":
    main("Chroma", "CHROMA_URL", connect, load, query)
