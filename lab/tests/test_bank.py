"""`hubless bank`: what a query bank holds, whether it is good, and who is forgotten."""

import numpy as np
import pytest
from support.hubs import foreign
from support.printed import COUNT


@pytest.fixture
def on(prepared):
    return "--catalog", prepared / "catalog", "--collection", "things"


def test_show_tells_counts_and_clients(run, prepared):
    shown = run("bank", "show", "--queries", prepared / "live" / "things", "--json").json
    assert (shown["queries"], shown["asked"], shown["files"]) == (COUNT, COUNT, 1)
    assert shown["clients"] == {"shop": 0.5, "phone": 0.5}
    assert shown["begins"] < shown["ends"]
    printed = run("bank", "show", "--queries", prepared / "live" / "things").out
    assert "shop" in printed
    assert "50.0 %" in printed


def test_check_of_a_good_bank_is_0_and_of_a_bad_one_4(run, prepared, on, tmp_path):
    live = ("--live-queries", prepared / "queries.npy")
    good = run("bank", "check", "--bank", prepared / "bank.npy", *live, *on)
    assert (good.code, "The bank is good." in good.out) == (0, True)
    np.save(tmp_path / "foreign.npy", foreign())
    bad = run("bank", "check", "--bank", tmp_path / "foreign.npy", *live, *on, "--json")
    assert bad.code == 4
    assert bad.json["good"] is False
    assert bad.json["against"]
    printed = run("bank", "check", "--bank", tmp_path / "foreign.npy", *live, *on)
    assert "Do not publish" in printed.out


def test_forget_deletes_those_of_a_client_or_all(run, prepared):
    home = prepared / "live" / "things"
    assert run("bank", "forget", "--queries", home, "--client", "shop").out == "queries and clicks deleted: 150\n"
    assert run("bank", "show", "--queries", home, "--json").json["clients"] == {"phone": 1.0}
    assert run("bank", "forget", "--queries", home, "--all", "--json").json == {"deleted": 150}
    ended = run("bank", "show", "--queries", home)
    assert ended.code == 1
    assert "one without queries" in ended.err


def test_check_of_live_queries_holds_some_out(run, prepared, on):
    told = run("bank", "check", "--bank", prepared / "live" / "things", *on, "--json").json
    assert told["chosen"]["queries"] == COUNT / 3
    assert told["thinned"].startswith(f"{told['record']['queries']} of {2 * COUNT // 3} queries of the bank are left")
    assert "queries of the bank are left" in run("bank", "check", "--bank", prepared / "live" / "things", *on).out
