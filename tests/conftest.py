"""What the tests of several parts share: a real catalog, and the real server over it."""

import pytest
from support.serving import serving_catalog

from hubless.corrections import testing
from support import catalogs

pytest_plugins = ["support.usual", "support.commands"]


@pytest.fixture(scope="session")
def catalog(tmp_path_factory):
    """Path of a catalog with the collections of support/catalogs.py. Do not change it."""
    return catalogs.build(tmp_path_factory.mktemp("catalog"))


@pytest.fixture(scope="session")
def server(catalog):
    """Address of a server of that catalog, ready."""
    with serving_catalog(catalog) as base_url:
        yield base_url


@pytest.fixture
def small_blocks():
    """5 targets by 7 bank queries at a time, reduced in strips; sizes 4 to 15 straddle them."""
    with testing.small_blocks():
        yield


@pytest.fixture(scope="session")
def milvus(tmp_path_factory):
    """A Milvus over HTTP; see `support.milvus.Double`. Tests share it, so they use names of their own."""
    from support.milvus import running  # here, as it takes long to import

    with running(tmp_path_factory.mktemp("milvus")) as double:
        yield double
