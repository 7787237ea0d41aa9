import numpy as np
import pytest
from support import catalogs
from support.hubs import pairs
from support.printed import COUNT, write_sample

import hubless
from hubless.errors import InputError, UnknownField
from hubless.store.query_sample import read_sample


@pytest.fixture
def build(run, prepared, tmp_path):
    given = ("--catalog", tmp_path / "catalog", "--collection", "things", "--targets", prepared / "targets.npy")
    return lambda *more: run("build", *given, *more)


def test_build_thins_live_queries_and_chooses_the_strength_by_some_that_are_not_in_the_bank(build, prepared, tmp_path):
    made = build("--query-bank", prepared / "live" / "things", "--json").json
    (note,) = [each for each in made["notes"] if "queries of query bank are left" in each]
    kept, fresh = made["bank"]["queries"], made["strength_choice"]["queries"]
    assert note.startswith(f"{kept} of {COUNT - fresh} queries")
    assert fresh == COUNT / 3
    sample = {row.tobytes() for row in read_sample(prepared / "live" / "things").vectors}
    stored = hubless.open(tmp_path / "catalog", "things").correction().state()["bank"]
    assert {row.tobytes() for row in stored} <= sample


@pytest.mark.parametrize("more", [("--set", "strength=0.5"), ("--set", "live_queries={}/queries.npy")])
def test_given_strength_or_live_queries_leave_all_of_the_sample_to_the_bank(build, prepared, more):
    given = [word.format(prepared) for word in more]
    made = build("--query-bank", prepared / "live" / "things", *given, "--json").json
    assert f"of {COUNT} queries of query bank are left" in " ".join(made["notes"])


def test_build_and_inspect_print_who_decided_the_strength_and_what_labels_said(run, tmp_path):
    queries, items, _ = pairs(900, apart=1.5)
    files = {
        "queries": queries[:600],
        "targets": items[500:],
        "right": np.argmax(queries[:600] @ items[500:].T, axis=1),
    }
    for name, rows in files.items():
        np.save(tmp_path / f"{name}.npy", rows)
    where = ("--catalog", tmp_path / "catalog", "--collection", "things")
    given = ("--targets", tmp_path / "targets.npy", "--query-bank", tmp_path / "queries.npy")
    made = run("build", *where, *given, "--set", f"relevant={tmp_path / 'right.npy'}")
    said = hubless.open(tmp_path / "catalog", "things").manifest.decided.labels
    shares = f"{100 * said.raw:.1f} % right raw, {100 * said.corrected:.1f} % with strength 1"
    shown = run("inspect", *where)
    for printed in (made, shown):
        assert "0, by labels" in printed.out
        assert f"{said.queries} queries: harm; {shares}" in printed.out
    assert "served raw" in shown.err


def test_clients_are_those_of_the_queries_that_are_left_where_bad_ones_are_skipped(tmp_path, prepared):
    vectors = read_sample(prepared / "live" / "things").vectors
    banks = []
    for zeros in (0, 1):
        folder = tmp_path / f"{zeros}"
        write_sample(folder, np.pad(vectors, ((0, zeros), (0, 0))), [f"{int(row**0.5)}" for row in range(COUNT)])
        index = hubless.Index(metric="cosine").fit(folder / "things", prepared / "targets.npy", skip_bad_rows=True)
        banks.append(index.correction().state()["bank"])
    np.testing.assert_array_equal(*banks)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            ("--query-bank", "payload:title"),
            "query bank: expected an encoder (--encoder FILE), which makes",
        ),
        (
            ("--query-bank", "{}/live/things", "--set", "relevant={}/right.npy"),
            "none for queries of which a bank is made",
        ),
        (("--query-bank", "{}/live/things", "--set", "fit_by=title", "--payload", "{}/payload.csv"), "title"),
        (("--query-bank", "nowhere"), "no such file"),
    ],
)
def test_bank_that_cannot_be_made_is_refused_by_name(build, prepared, more, told):
    ended = build(*(word.format(prepared) for word in more))
    assert ended.code in (1, 2)
    assert told in ended.err


def test_build_makes_a_bank_of_the_payload(tmp_path):
    data, encoder = catalogs.words(), catalogs.encoder()
    payload = [{"title": " ".join(catalogs.words_of(row)), "year": row} for row in range(len(data.ids))]
    given = {"ids": data.ids, "payload": payload, "encoder": encoder}
    made = hubless.build(tmp_path, "words", data.targets, "payload:title", **given)
    assert made.correction.name == "auto"
    assert made.bank.queries > 50
    index = hubless.Index("auto", "cosine").fit("payload:title", data.targets, **given)
    np.testing.assert_array_equal(index.offsets, hubless.open(tmp_path, "words").offsets)
    assert made.bank.among_targets == 0
    with pytest.raises(UnknownField, match="query bank: expected columns of the payload: title, year, got name"):
        hubless.build(tmp_path, "words", data.targets, "payload:title,name", **given)
    with pytest.raises(InputError, match="payload column year: expected texts, got int64"):
        hubless.build(tmp_path, "words", data.targets, "payload:year", **given)
