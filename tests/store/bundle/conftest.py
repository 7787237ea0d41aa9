import shutil

import pytest
from support import small


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """A catalog of one version with every file that a bundle can have. Do not change it."""
    catalog = tmp_path_factory.mktemp("template") / "catalog"
    small.build_full(catalog, correction="sn")
    return catalog


@pytest.fixture
def catalog(template, tmp_path):
    return shutil.copytree(template, tmp_path / "catalog")


@pytest.fixture
def folder(catalog):
    (version,) = small.entries(catalog)
    return catalog / "photos" / "versions" / version


@pytest.fixture(scope="session")
def merged(tmp_path_factory):
    """Two versions in a catalog; the second shares a segment and the fit, and has all kinds of files. Leave it so."""
    catalog = tmp_path_factory.mktemp("merged") / "catalog"
    small.merged(catalog, correction="sn")
    return catalog
