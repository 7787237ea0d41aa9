import pytest
from support import small


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """A catalog with a collection of two versions, the second current. Do not change it."""
    catalog = tmp_path_factory.mktemp("template") / "catalog"
    small.build_full(catalog)
    small.build_full(catalog, data=1)
    return catalog
