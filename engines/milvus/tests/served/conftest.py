"""The fixtures of the tests of the service, over the same collections in Milvus: the same tests have to pass.

Tests that are imported here from the modules beside ask about queries, batches, strengths, filters, points, pages,
counts and writes.
"""

from importlib.util import find_spec

import pytest
from support.serving import serving_catalog

from support import catalogs

URI = "HUBLESS_MILVUS_URI"
collect_ignore_glob = [] if find_spec("hubless_milvus") else ["test_*.py"]


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
def http(server, contract):
    """Its own, as that of the folder above is made once, for one server."""
    with contract.client(server, timeout=60) as client:
        yield client
