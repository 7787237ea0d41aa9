"""Fixtures: a real catalog, and the real server over it."""

import pytest
from support import catalogs
from support.serving import serving_catalog


@pytest.fixture(scope="session")
def catalog(tmp_path_factory):
    """Path of a catalog with the collections of support/catalogs.py. Do not change it."""
    return catalogs.build(tmp_path_factory.mktemp("catalog"))


@pytest.fixture(scope="session")
def server(catalog):
    """Address of a server of that catalog, ready."""
    with serving_catalog(catalog) as base_url:
        yield base_url
