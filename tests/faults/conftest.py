import pytest
from support import busy


@pytest.fixture(scope="session")
def busy_catalog(tmp_path_factory):
    """Path of a catalog with the collection of support/busy.py. Do not change it."""
    return busy.build(tmp_path_factory.mktemp("busy"))
