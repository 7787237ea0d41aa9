"""Load an export into Qdrant and ask it, with the hubness taken out of the ranking.

    pip install numpy pyarrow 'qdrant-client>=1.10'
    python recipe.py load     # then `check queries.npy` and `query queries.npy`, see recipe_base.py

Tested with the local mode of qdrant-client 1.20.
"""

import json
import os
import uuid

from qdrant_client import QdrantClient, models
from recipe_base import NAME, STRENGTH, WIDTH, augmented, blocks, main, refuse_unless

URL = os.environ.get("QDRANT_URL", "http://localhost:6333")
"""Of the server; or a folder, for the client's local mode."""


def connect():
    """Return a client of Qdrant."""
    if URL.startswith("http"):
        return QdrantClient(url=URL, api_key=os.environ.get("QDRANT_API_KEY"), timeout=60)
    return QdrantClient(path=URL)


def point_id(given):
    """Whole numbers from 0 stay, other ids become a UUID: the same one for the same id."""
    return given if isinstance(given, int) and given >= 0 else str(uuid.uuid5(uuid.NAMESPACE_URL, str(given)))


def load(client, replace):
    """Load all targets, as they stand in targets.parquet."""
    if client.collection_exists(NAME):
        refuse_unless(replace)
        client.delete_collection(NAME)
    # Dot, not Cosine: that would divide by the length, and the offset with it
    client.create_collection(NAME, models.VectorParams(size=WIDTH, distance=models.Distance.DOT))
    for ids, vectors, payloads in blocks(256):
        points = [
            models.PointStruct(id=point_id(wanted), vector=vector.tolist(), payload={**payload, "id": wanted})
            for wanted, vector, payload in zip(ids, vectors, payloads, strict=True)
        ]
        client.upsert(NAME, points, wait=True)


def query(client, vector, limit=10, strength=STRENGTH, where=None):
    """Return ids and corrected scores of the best targets, best first.

    `where` is JSON, as `{"must": [{"key": "year", "range": {"gte": 2000}}]}`.
    """
    wanted = None if where is None else models.Filter.model_validate(json.loads(where))
    asked = augmented(vector, strength).tolist()
    found = client.query_points(NAME, asked, query_filter=wanted, limit=limit, with_payload=["id"])
    return [(point.payload["id"], point.score) for point in found.points]


if __name__ == "__main__":
    main("Qdrant", "QDRANT_URL", connect, load, query)
