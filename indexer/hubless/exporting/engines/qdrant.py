"""Qdrant: metric Dot. Its ids are whole numbers from 0, or UUIDs, so the id is in the payload too."""

from hubless.exporting.engines.base import Engine
from hubless.exporting.names import Names

_SCRIPT = '''
import uuid

from qdrant_client import QdrantClient, models

URL = os.environ.get("QDRANT_URL", "http://localhost:6333")
"""Of the server; or a folder, for the client's local mode."""


def connect():
    if URL.startswith("http"):
        return QdrantClient(url=URL, api_key=os.environ.get("QDRANT_API_KEY"), timeout=60)
    return QdrantClient(path=URL)


def point_id(given):
    """Whole numbers from 0 stay, other ids become a UUID: the same one for the same id."""
    return given if isinstance(given, int) and given >= 0 else str(uuid.uuid5(uuid.NAMESPACE_URL, str(given)))


def load(client, replace):
    if client.collection_exists(NAME):
        refuse_unless(replace)
        client.delete_collection(NAME)
    # Dot, not Cosine: that would divide by the length, and the offset with it
    client.create_collection(NAME, models.VectorParams(size=WIDTH, distance=models.Distance.DOT))
    for ids, vectors, payloads in blocks(256):
        points = [
            models.PointStruct(id=point_id(wanted), vector=vector.tolist(), payload={**payload, "id": wanted})
            for wanted, vector, payload in zip(ids, vectors, payloads)
        ]
        client.upsert(NAME, points, wait=True)


def query(client, vector, limit=10, strength=STRENGTH):
    """The ids and corrected scores of the best targets, best first."""
    found = client.query_points(NAME, augmented(vector, strength).tolist(), limit=limit, with_payload=["id"])
    return [(point.payload["id"], point.score) for point in found.points]
'''

QDRANT = Engine(
    title="Qdrant",
    packages=("qdrant-client>=1.10",),
    script=_SCRIPT,
    tested="the local mode of qdrant-client 1.20",
    most_width=65_535,
    collection=Names(r"[A-Za-z0-9_-]"),
)
