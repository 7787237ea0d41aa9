import numpy as np
import pytest
from support import catalogs
from support.hubs import foreign, unit
from support.printed import COUNT

import hubless


@pytest.fixture
def on(prepared):
    return "--catalog", prepared / "catalog", "--collection", "things"


def load(path):
    return np.load(path)


def test_show_tells_counts_and_clients(run, prepared):
    shown = run("bank", "show", "--queries", prepared / "live" / "things", "--json").json
    assert (shown["queries"], shown["asked"], shown["files"]) == (COUNT, COUNT, 1)
    assert shown["clients"] == {"shop": 0.5, "phone": 0.5}
    assert shown["begins"] < shown["ends"]
    printed = run("bank", "show", "--queries", prepared / "live" / "things").out
    assert "shop" in printed
    assert "50.0 %" in printed


def test_thin_writes_a_bank_and_fresh_queries_that_are_not_in_it(run, prepared, on, tmp_path):
    bank, fresh = (tmp_path / f"{name}.npy" for name in ("bank", "fresh"))
    files = ("--output", bank, "--set", f"fresh={fresh}")
    told = run("bank", "thin", "--queries", prepared / "live" / "things", *on, *files, "--json").json
    rows = {row.tobytes() for row in load(bank)}
    assert len(rows) == told["kept"] == len(load(bank))
    assert len(load(fresh)) == told["fresh"] == 100
    assert not rows & {row.tobytes() for row in load(fresh)}
    left = told["near_duplicates"] + told["over_the_share_of_a_client"] + told["outliers"]
    assert told["kept"] + told["fresh"] + left == told["given"] == COUNT


@pytest.fixture
def mix(run, prepared, on, tmp_path):
    given = ("--bank", prepared / "bank.npy", "--queries", prepared / "live" / "things", "--output", tmp_path / "o.npy")
    return lambda *more: run("bank", "thin", *given, *on, *more)


def test_thin_mixes_with_a_bank_by_the_share(mix, prepared, tmp_path):
    ended = mix("--set", "share=.75", "--set", "size=200")
    assert ended.code == 0
    assert "200 queries" in ended.out
    old, mixed = load(prepared / "bank.npy"), load(tmp_path / "o.npy")
    assert len(mixed) == 200
    assert ((mixed @ unit(old).T).max(axis=1) > 0.9999).sum() == 50


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--set", "share=1.5"), "shares above 0"),
        (("--set", "share=0"), "shares above 0"),
        (("--set", "size=0"), "enough for a query"),
        (("--set", "size=many"), "size: expected a whole number, got many"),
        (("--set", "shares=.5"), "there is no shares, did you mean share?"),
        (("--output", "bank.txt"), "ending in .npy"),
        (("--queries", "nowhere"), "no such file"),
    ],
)
def test_wrong_options_of_thin_are_named(mix, words, told):
    ended = mix(*words)
    assert ended.code in (1, 2)
    assert told in ended.err


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
    assert run("bank", "forget", "--queries", home, "--client", "shop").out == "deleted 150 queries\n"
    assert run("bank", "show", "--queries", home, "--json").json["clients"] == {"phone": 1.0}
    assert run("bank", "forget", "--queries", home, "--all", "--json").json == {"deleted": 150}
    ended = run("bank", "show", "--queries", home)
    assert ended.code == 1
    assert "an empty folder" in ended.err


def test_thin_makes_a_bank_of_the_payload_that_a_build_takes(run, tmp_path):
    catalog = ("--catalog", tmp_path / "catalog", "--collection", "words")
    data, encoder = catalogs.words(), catalogs.encoder()
    payload = [{"title": " ".join(catalogs.words_of(row))} for row in range(len(data.ids))]
    options = {"correction": "none", "ids": data.ids, "payload": payload, "encoder": encoder}
    hubless.build(tmp_path / "catalog", "words", data.targets, **options)
    run("bank", "thin", "--queries", "payload:title", *catalog, "--output", tmp_path / "bank.npy")
    bank = np.load(tmp_path / "bank.npy")
    assert bank.shape[0] > 50
    hubless.refit(tmp_path / "catalog", "words", bank)
    assert hubless.open(tmp_path / "catalog", "words").manifest.correction.name == "auto"
