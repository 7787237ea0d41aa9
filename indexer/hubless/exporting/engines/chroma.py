"""Chroma: space ip. Its ids are strings, and metadata is flat and without nulls."""

from hubless.exporting.engines.base import Engine
from hubless.exporting.names import Names

_SCRIPT = '''
from urllib.parse import urlsplit

import chromadb

URL = os.environ.get("CHROMA_URL", str(HERE / "chroma"))
"""A folder, for Chroma in this process; or of a server. Chroma's own port is 8000, which hubless has too."""


def connect():
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


def query(client, vector, limit=10, strength=STRENGTH):
    """The ids and corrected scores of the best targets, best first."""
    collection = client.get_collection(NAME, embedding_function=None)
    found = collection.query(augmented(vector, strength)[None], n_results=limit, include=["distances"])
    ids = [int(each) if WHOLE_IDS else each for each in found["ids"][0]]
    return [(wanted, 1 - distance) for wanted, distance in zip(ids, found["distances"][0])]
'''

CHROMA = Engine(
    title="Chroma",
    packages=("chromadb>=1.0",),
    script=_SCRIPT,
    tested="Chroma 1.5, in one process",
    most_width=2**31 - 1,
    collection=Names(r"[A-Za-z0-9._-]", r"[A-Za-z0-9]", most=512, fewest=3),
)
