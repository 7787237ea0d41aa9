"""Pointers and pages that stand in for files are named as what they are, whatever reads them."""

from pathlib import Path

import pytest

from hubless.errors import StorageError
from hubless.vectors.fetched import fetched_file


@pytest.mark.parametrize("address", ["s3://bucket/t.npy", "https://host/t.npy"])
def test_address_is_told_with_both_slashes_though_paths_have_one(address):
    with pytest.raises(StorageError, match=f"^{address}: targets: there is no such file$"):
        fetched_file(Path(address), "targets")
