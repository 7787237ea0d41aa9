"""The fixtures of the tests of the service, over the same collections in Milvus: the same tests have to pass.

Tests that are imported here from tests/service ask about queries, batches, strengths, filters, points, pages,
counts and writes.
"""

import pytest
from service.conftest import contract, numbers, serve, vector, words  # noqa: F401
from support import catalogs
from support.serving import serving_catalog

URI = "HUBLESS_MILVUS_URI"


@pytest.fixture(autouse=True)
def _milvus(milvus, monkeypatch):
    """The address; and only the fewest matches are named one by one, so that filters are translated here, too."""
    monkeypatch.setenv(URI, milvus.uri)
    monkeypatch.setattr("hubless_milvus.expressions.FEW", 3)


@pytest.fixture(scope="session")
def catalog(milvus, tmp_path_factory):
    """The collections of support/catalogs.py, with their vectors in Milvus."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(URI, milvus.uri)
        return catalogs.build(tmp_path_factory.mktemp("catalog"), engine="milvus", index="flat")


@pytest.fixture(scope="session")
def server(catalog, milvus):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(URI, milvus.uri)
        with serving_catalog(catalog) as base_url:
            yield base_url


@pytest.fixture(scope="session")
def http(server, contract):  # noqa: F811
    """Its own, as that of the folder above is made once, for one server."""
    with contract.client(server, timeout=60) as client:
        yield client
