import numpy as np
import pytest
from support.hubs import pairs

import hubless
from hubless.errors import InputError
from hubless.lab.bank_drift import bank_drift


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with a catalog, queries like those of the bank, and queries that are targets."""
    folder = tmp_path_factory.mktemp("drift")
    queries, targets, _ = pairs(600, apart=1.5)
    np.save(folder / "alike.npy", queries[:200])
    np.save(folder / "targets.npy", targets[:200])
    np.save(folder / "few.npy", np.repeat(queries[:49], 5, axis=0))
    hubless.build(folder / "catalog", "things", targets[:200], queries[200:], progress=False)
    return folder


def test_queries_of_the_bank_are_no_drift_and_others_are(built):
    collection = hubless.open(built / "catalog", "things")
    alike = bank_drift(collection, built / "alike.npy")
    assert alike.drift < 1
    assert (alike.queries, alike.advice) == (200, None)
    moved = bank_drift(collection, np.load(built / "targets.npy"))
    assert moved.drift > 3
    assert "recent queries as the bank" in moved.advice


def test_too_few_different_queries_are_refused(built):
    with pytest.raises(InputError, match="queries: expected at least 50 different ones, got 49"):
        bank_drift(hubless.open(built / "catalog", "things"), built / "few.npy")
