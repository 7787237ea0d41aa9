"""What the tests of several parts share: a real catalog, and the real server over it."""

import os

import pytest
from support import catalogs
from support.serving import serving, wait_until_ready


@pytest.fixture(autouse=True)
def _quick_sync(monkeypatch):
    """Nobody cuts the power in a test, and waiting for the disk takes most of the time of a small build."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(scope="session")
def catalog(tmp_path_factory):
    """Path of a catalog with the collections of support/catalogs.py. Do not change it."""
    return catalogs.build(tmp_path_factory.mktemp("catalog"))


@pytest.fixture(scope="session")
def server(catalog):
    """Address of a server of that catalog, ready."""
    from hubless_service.app import create_app
    from hubless_service.settings import Settings

    with serving(create_app(Settings(catalog=catalog))) as base_url:
        assert wait_until_ready(base_url).status_code == 200
        yield base_url
