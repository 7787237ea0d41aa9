import numpy as np
import pytest
from support import stores
from typer.testing import CliRunner

import hubless
from hubless.cli.application import app
from hubless.errors import InputError

NUMBER = "1" * 16


def test_undo_takes_away_what_corrections_made_and_names_it(store, fitted, best):
    before = store.listed()
    assert hubless.undo(store.address) == []
    stores.correct(store)
    kept = stores.correct(store, into="other")
    gone = hubless.undo(store.address, into="hubless")
    assert gone
    assert "hubless" in gone[0]
    assert hubless.undo(store.address, into="hubless") == []
    assert stores.asked(store, kept.query) == best(fitted)
    with pytest.raises(InputError, match="into: expected a correction that is there"):
        hubless.correct(store.address, sync=True)
    assert any("other" in one for one in hubless.undo(store.address))
    assert store.listed() == before
    again = stores.correct(store)
    assert stores.asked(store, again.query) == best(fitted)


@pytest.mark.parametrize("store", ["qdrant"], indirect=True)
def test_command_prints_what_went_or_that_there_is_nothing(store, tmp_path):
    np.save(tmp_path / "bank.npy", stores.BANK_QUERIES)
    for _ in range(2):
        stores.correct(store)
    said = CliRunner().invoke(app, ["correct", store.address, "--undo"])
    assert said.exit_code == 0, said.output
    assert "removed " in said.output
    said = CliRunner().invoke(app, ["correct", store.address, "--undo", "--into", "hubless"])
    assert (said.exit_code, said.output) == (0, "nothing to undo\n")
    said = CliRunner().invoke(app, ["correct", store.address, "--undo", "--sync"])
    assert "cannot be combined with --undo" in said.output


@pytest.mark.parametrize("store", stores.BESIDE, indirect=True)
def test_copies_of_killed_runs_go_too_and_those_of_other_collections_stay(store):
    join = store.separator.join
    store.make(join(["photos", "big"]))
    mine = [join(["photos", "hubless", NUMBER]), join(["photos", "hubless", NUMBER, "fit"])]
    for name in [*mine, join(["photos", "big", "hubless", NUMBER]), join(["photos", "big", "hubless", NUMBER, "fit"])]:
        store.make(name)
    assert hubless.undo(store.address) == [f"collection {name}" for name in mine]
