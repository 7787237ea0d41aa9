import pytest
from support import milvus as servers

pytest_plugins = ["support.usual", "support.served"]


@pytest.fixture(scope="session")
def milvus(tmp_path_factory):
    """A Milvus over HTTP; see `support.milvus.Double`. Tests share it, so they use names of their own."""
    with servers.running(tmp_path_factory.mktemp("milvus")) as double:
        yield double
