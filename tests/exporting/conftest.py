import pytest
from support import exports


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """A collection with whole numbers as ids, metric cosine. Do not change it."""
    return exports.build(tmp_path_factory.mktemp("whole"), ids=exports.whole_ids())


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    """A collection with texts as ids, metric dot. Do not change it."""
    return exports.build(tmp_path_factory.mktemp("text"), metric="dot")
