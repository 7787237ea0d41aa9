import pytest
from support.made_pairs import make_pairs


@pytest.fixture(scope="session")
def made_pairs():
    return make_pairs(300)
