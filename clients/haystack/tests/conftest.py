"""A real server, whose address the environment has."""

import os

# before Haystack is imported: it would tell its makers of the run
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"

import uuid

import pytest
from haystack.utils import Secret

from haystack_integrations.document_stores.hubless import HublessDocumentStore
from hubless_client import Client


@pytest.fixture(scope="session")
def server():
    return {"url": os.environ["HUBLESS_URL"], "api_key": Secret.from_env_var("HUBLESS_KEY")}


@pytest.fixture
def client(server):
    with Client(server["url"], api_key=server["api_key"].resolve_value()) as client:
        yield client


@pytest.fixture
def new_store(server, client):
    """Makes empty stores, removed afterwards."""
    made = []

    def make(**options):
        made.append(HublessDocumentStore(f"test-{uuid.uuid4().hex}", **server, **options))
        return made[-1]

    yield make
    names = {collection.name for collection in client.collections()}
    for store in made:
        store.close()
        if store.collection in names:
            client.delete_collection(store.collection)
