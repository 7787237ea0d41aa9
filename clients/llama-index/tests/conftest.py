"""A real server, whose address the environment has."""

import os
import uuid

import pytest

from hubless_client import Client
from llama_index.vector_stores.hubless import HublessVectorStore


@pytest.fixture(scope="session")
def server():
    return {"url": os.environ["HUBLESS_URL"], "api_key": os.environ["HUBLESS_KEY"]}


@pytest.fixture
def store(server):
    """An empty store, removed afterwards."""
    made = HublessVectorStore(f"test-{uuid.uuid4().hex}", **server)
    yield made
    made.close()
    with Client(server["url"], api_key=server["api_key"]) as client:
        if any(collection.name == made.collection for collection in client.collections()):
            client.delete_collection(made.collection)
