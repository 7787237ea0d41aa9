from datetime import timedelta

import pytest
from support import object_storage

from hubless_objects import objects

pytest_plugins = ["support.usual"]


@pytest.fixture(scope="session")
def _object_storage():
    with object_storage.store() as running:
        yield running


@pytest.fixture
def store(_object_storage, monkeypatch, tmp_path):
    """An S3 endpoint with an empty bucket. Copies of catalogs are in a folder of the test."""
    _object_storage.empty()
    for name, value in _object_storage.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HUBLESS_CACHE", str(tmp_path / "copies"))
    monkeypatch.setitem(objects.PAUSES, "init_backoff", timedelta(milliseconds=1))
    return _object_storage
