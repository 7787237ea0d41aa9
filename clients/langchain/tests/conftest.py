"""A real server, whose address the environment has."""

import os
import uuid

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

from hubless_client import Client
from langchain_hubless import HublessVectorStore


@pytest.fixture(scope="session")
def server():
    return {"url": os.environ["HUBLESS_URL"], "api_key": os.environ["HUBLESS_KEY"]}


@pytest.fixture
def store(server):
    """An empty store, removed afterwards."""
    made = HublessVectorStore(DeterministicFakeEmbedding(size=6), f"test-{uuid.uuid4().hex}", **server)
    yield made
    made.close()
    with Client(server["url"], api_key=server["api_key"]) as client:
        if any(collection.name == made.collection for collection in client.collections()):
            client.delete_collection(made.collection)
