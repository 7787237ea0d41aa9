import tempfile
from pathlib import Path

import numpy as np
import pytest
from support import stores

import hubless

pytest_plugins = ["support.usual"]


@pytest.fixture(scope="session", autouse=True)
def _servers():
    yield
    stores.stop()


@pytest.fixture(scope="session")
def fitted():
    """What hubless makes of the first rows. Do not change it."""
    index = hubless.Index(metric="cosine", index="flat")
    index.fit(stores.BANK_QUERIES, stores.TARGETS[: stores.FIRST], ids=range(stores.FIRST), bank_of_targets=True)
    return index


@pytest.fixture(scope="session")
def whole():
    """The same with all rows. Do not change it."""
    index = hubless.Index(metric="cosine", index="flat")
    index.fit(stores.BANK_QUERIES, stores.TARGETS[: stores.FIRST], ids=range(stores.FIRST), bank_of_targets=True)
    index.add(stores.TARGETS[stores.FIRST :], ids=range(stores.FIRST, stores.COUNT))
    return index


@pytest.fixture(params=stores.STORES)
def store(request):
    """A database with the first rows."""
    with tempfile.TemporaryDirectory(dir=stores.MEMORY) as folder:
        made = stores.made(request.param, Path(folder) / "store")
        made.fill(0, stores.FIRST)
        yield made


@pytest.fixture
def best():
    """The ten best rows of each query by hubless' vectors and offsets, of all or of the first so many."""

    def of(index, below=None, strength=1):
        rows = np.arange(index.count if below is None else below)
        scores = index.prepare(stores.QUERIES) @ index.vectors(rows).T - strength * index.offsets[rows]
        return [[int(each) for each in index.ids(line)] for line in np.argsort(-scores, axis=1)[:, :10]]

    return of
