import pytest
from support import object_storage

from hubless.store.remote import objects


@pytest.fixture(scope="session")
def _server():
    with object_storage.store() as running:
        yield running


@pytest.fixture
def store(_server, monkeypatch, tmp_path):
    """An S3 endpoint with an empty bucket. Copies of catalogs are in a folder of the test."""
    _server.empty()
    for name, value in _server.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HUBLESS_CACHE", str(tmp_path / "copies"))
    monkeypatch.setattr(objects, "PAUSE_SECONDS", 0)
    return _server
