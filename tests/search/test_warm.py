from pathlib import Path

import numpy as np
import pytest
from support import small

import hubless
from hubless.errors import StorageError
from hubless.store import bundle

READ = Path("/proc/self/io")
pytestmark = pytest.mark.skipif(not READ.exists(), reason="needs Linux's count of bytes read")


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    path = tmp_path_factory.mktemp("warm")
    rows = np.random.default_rng(0).standard_normal((3000, 32)).astype(np.float32)
    payload = {"number": np.arange(3000)}
    hubless.build(path, "c", rows, rows[::7] + 0.5, index="flat", payload=payload)
    return path


def bytes_read(work):
    """Return how many bytes this process read while it did the work."""

    def so_far():
        return int(READ.read_text().splitlines()[0].split()[1])

    before = so_far()
    work()
    return so_far() - before


def mapped_bytes(folder):
    mapped = (bundle.INDEX, bundle.IDS, bundle.PAYLOAD)
    return sum(path.stat().st_size for path in small.paths(folder) if path.name in mapped)


def test_warm_reads_all_that_is_mapped(catalog):
    folder = hubless.Catalog(catalog).folder("c")
    assert bytes_read(lambda: bundle.warm(folder)) >= mapped_bytes(folder)


def test_warm_says_which_file_is_gone(catalog, tmp_path):
    rows = np.random.default_rng(0).standard_normal((40, 8)).astype(np.float32)
    hubless.build(tmp_path, "c", rows, rows + 0.5, index="flat", bank_of_targets=True)
    folder = hubless.Catalog(tmp_path).folder("c")
    small.path_of(folder, bundle.INDEX).unlink()
    with pytest.raises(StorageError, match=bundle.INDEX):
        bundle.warm(folder)
