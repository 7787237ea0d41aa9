import pytest
from support.hubs import foreign, pairs

import hubless
from hubless.errors import InputError

QUERIES, ITEMS, _ = pairs(900, apart=1.0, common=1.0)
LIVE, BANK, TARGETS = QUERIES[:220], QUERIES[220:600], ITEMS[400:]
FOREIGN = foreign()


@pytest.mark.parametrize(("bank", "told"), [(BANK, "the query bank fits them: keep"), (FOREIGN, "does not fit them")])
def test_diagnosis_says_whether_the_bank_is_like_the_live_queries(bank, told):
    found = hubless.diagnose(TARGETS, bank, metric="cosine", live_queries=LIVE)
    assert told in found.verdict[-1]
    assert (found.strength.strength == 1) == (bank is BANK)
    assert found.as_json()["strength"]["strength"] == found.strength.strength


def test_targets_are_no_live_queries():
    with pytest.raises(InputError, match="live queries: expected queries that people asked, got 100% targets"):
        hubless.diagnose(TARGETS, BANK, metric="cosine", live_queries=TARGETS)
