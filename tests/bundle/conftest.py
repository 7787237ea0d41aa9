import os
import shutil

import pytest
from support import small


@pytest.fixture(autouse=True)
def _quick_sync(monkeypatch):
    """Nobody cuts the power in a test, and waiting for the disk takes most of the time of a small build."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """A catalog of one version with every file that a bundle can have. Do not change it."""
    catalog = tmp_path_factory.mktemp("template") / "catalog"
    small.build_full(catalog, correction="sn")
    return catalog


@pytest.fixture
def catalog(template, tmp_path):
    """A copy of it, to damage."""
    return shutil.copytree(template, tmp_path / "catalog")


@pytest.fixture
def folder(catalog):
    """The folder of its version."""
    (version,) = small.entries(catalog)
    return catalog / "photos" / "versions" / version
