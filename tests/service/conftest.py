from contextlib import contextmanager
from time import sleep

import pytest
from support import catalogs
from support.contract import Contract
from support.embeddings import embeddings
from support.serving import serving, settings_with
from support.sources import Source

import hubless
from hubless_service.app import create_app
from hubless_service.searching.search_service import SearchService

WORDS = "/v1/collections/words"
NUMBERS = "/v1/collections/numbers"


@pytest.fixture(scope="session")
def contract():
    return Contract()


@pytest.fixture(scope="session")
def http(server, contract):
    """A client of the server over the whole catalog."""
    with contract.client(server, timeout=60) as client:
        yield client


@pytest.fixture
def endpoint():
    with embeddings() as server:
        yield server


@pytest.fixture
def sample(tmp_path):
    return tmp_path / "sample"


@pytest.fixture
def words(catalog):
    return hubless.open(catalog, "words")


@pytest.fixture
def numbers(catalog):
    return hubless.open(catalog, "numbers")


@pytest.fixture(scope="session")
def vector():
    return catalogs.words().query_bank[0]


@pytest.fixture
def serve(catalog, contract):
    """A context manager that serves collections, or what opening them raises; yields a client and the source."""

    @contextmanager
    def serve(collections, *, held=False, **settings):
        source = Source(collections, held=held)
        with (
            settings_with(catalog=catalog, **settings) as table,
            serving(create_app(table, SearchService(source, table))) as base_url,
            contract.client(base_url) as client,
        ):
            try:
                if not held:
                    while client.get("/readyz").headers.get("retry-after"):
                        sleep(0.01)
                yield client, source
            finally:
                source.gate.set()

    return serve
