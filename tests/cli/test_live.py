import numpy as np
import pytest
from support.hubs import foreign, pairs

import hubless

QUERIES, ITEMS, _ = pairs(900, apart=1.0, common=1.0)


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    folder = tmp_path_factory.mktemp("given")
    arrays = {"targets": ITEMS[400:], "fitting": QUERIES[220:600], "foreign": foreign(), "live": QUERIES[:220]}
    for name, rows in arrays.items():
        np.save(folder / f"{name}.npy", rows)
    return folder


def built(run, given, catalog, bank, *words):
    return run(
        *("build", "--catalog", catalog, "--collection", "c", "--targets", given / "targets.npy"),
        *("--query-bank", given / f"{bank}.npy", "--set", f"live_queries={given / 'live.npy'}", *words),
    )


def test_foreign_bank_is_told_and_queries_take_the_chosen_strength(run, given, tmp_path):
    ended = built(run, given, tmp_path, "foreign")
    assert ended.code == 0
    assert "the query bank does not fit them" in " ".join(ended.err.split())
    strength = hubless.open(tmp_path, "c").strength
    (shown,) = (cells for cells in ended.table if cells[0] == "strength")
    assert shown[1].startswith(f"{strength:g}, by ")
    assert strength <= 0.25
    inspected = run("inspect", "--catalog", tmp_path, "--collection", "c")
    assert "Make a bank of your own queries" in " ".join(inspected.err.split())
    assert shown in inspected.table
    asked = ("query", "--catalog", tmp_path, "--collection", "c", "--vectors", given / "live.npy", "--json")
    chosen, full = run(*asked).json, run(*asked, "--strength", "1").json
    assert chosen == run(*asked, "--strength", strength).json != full
