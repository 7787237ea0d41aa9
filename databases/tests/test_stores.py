import itertools
import json
import re
import sys
from importlib.metadata import entry_points

import numpy as np
import pytest
from support import stores
from support.evaluating import EVALUATED
from typer.testing import CliRunner

import hubless
from hubless.cli.application import app
from hubless.errors import HublessError, InputError, how_to_install
from hubless_databases import correct as correcting
from hubless_databases.addresses import GROUP, PACKAGE, open_database


def test_corrected_database_finds_what_hubless_finds_also_with_filters_and_after_new_rows(store, fitted, whole, best):
    with pytest.raises(InputError, match="into: expected a correction that is there"):
        hubless.correct(store.address, sync=True)
    done = stores.correct(store)
    assert (done.written, done.left_out, done.into) == (stores.FIRST, 0, "hubless")
    assert stores.asked(store, done.query) == best(fitted)
    assert best(fitted) != best(fitted, strength=0)
    assert stores.asked(store, done.query, below=50) == best(fitted, below=50)
    store.fill(stores.FIRST)
    synced = hubless.correct(store.address, sync=True)
    assert (synced.written, synced.query) == (stores.COUNT - stores.FIRST, done.query)
    assert stores.asked(store, done.query) == best(whole)
    assert hubless.correct(store.address, sync=True).written == 0
    # again, with all rows; the dot product of the same vectors is another correction
    again = stores.correct(store, metric="dot", into="other")
    index = hubless.Index(metric="dot", index="flat").fit(stores.BANK_QUERIES, stores.TARGETS, bank_of_targets=True)
    assert stores.asked(store, again.query) == best(index)
    assert stores.asked(store, done.query) == best(whole)


def with_slow(*slow):
    return [pytest.param(name, marks=[pytest.mark.slow] if name in slow else []) for name in stores.STORES]


@pytest.mark.parametrize("store", ["pgvector"], indirect=True)
def test_commands_take_an_address_and_print_how_to_ask(store, fitted, best, tmp_path):
    np.save(tmp_path / "bank.npy", stores.BANK_QUERIES)
    given = ["--query-bank", str(tmp_path / "bank.npy"), "--set", "bank_of_targets=true"]
    said = CliRunner().invoke(app, ["diagnose", store.address, *given])
    assert said.exit_code == 0, said.output
    assert "Largest hubs" in said.output
    beside = CliRunner().invoke(app, ["diagnose", store.address, "--targets", str(tmp_path / "bank.npy")])
    assert "cannot be combined with an address" in beside.output
    said = CliRunner().invoke(app, ["correct", store.address, *given])
    assert said.exit_code == 0, said.output
    lines = said.output.partition("Ask with the query q:\n")[2].partition("Whether to answer")[0]
    assert stores.asked(store, lines) == best(fitted)
    said = CliRunner().invoke(app, ["correct", store.address, "--sync"])
    assert "0 rows got a corrected vector in hubless" in said.output


@pytest.mark.parametrize("store", with_slow("milvus"), indirect=True)
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_database_says_whether_to_answer_as_the_collection_does(store, metric):
    """The labels call what is far ahead right."""
    index = hubless.Index(metric=metric, index="flat")
    rows = stores.TARGETS[: stores.FIRST]
    index.fit(stores.BANK_QUERIES, rows, ids=range(stores.FIRST), bank_of_targets=True)
    best = index.query(stores.BANK_QUERIES, 2)
    right = np.where(best.confidence > np.median(best.confidence), best.rows[:, 0], best.rows[:, 1])
    index.calibrate(stores.BANK_QUERIES, right)
    assert index.cut.accuracies[3:6] == [0.8, 0.85, 0.9]
    done = hubless.publish(index, store.address)
    for query in stores.QUERIES:
        scores = index.query(query, 10).scores[0].tolist()
        if isinstance(store, stores.Pgvector):
            found, same = store.confident(done.query, query, 0.9), store.of_scores(scores, 0.9)
        else:
            store.ask(done.query, query)
            *lines, _ = done.answer.splitlines()
            names = {**EVALUATED, "hubless": hubless}
            exec("\n".join(lines), names)  # noqa: S102
            assert names["scores"] == pytest.approx(scores, abs=1e-4) or metric == "euclidean"
            found, same = (
                (names["cut"].confidence(given), names["cut"].accept(given, 0.9)) for given in (names["scores"], scores)
            )
        confidence = index.cut.confidence(scores)
        accepted = confidence >= index.cut.threshold(0.9)
        if metric == "cosine":  # else the scores of the database have another unit
            assert same == (pytest.approx(confidence, abs=1e-6), accepted)
        # by the scores of the database, which are rounded in another way
        assert found == (pytest.approx(confidence, abs=2e-4), accepted)


@pytest.mark.parametrize("store", ["pgvector", "qdrant"], indirect=True)
def test_labels_given_to_the_command_calibrate_the_database(store, tmp_path):
    rows = stores.TARGETS[: stores.FIRST]
    index = hubless.Index(metric="cosine", index="flat").fit(stores.BANK_QUERIES, rows, bank_of_targets=True)
    found = index.query(stores.BANK_QUERIES, 1).rows[:, 0].tolist()
    (tmp_path / "right.json").write_text(json.dumps(found))
    np.save(tmp_path / "bank.npy", stores.BANK_QUERIES)
    given = ["correct", store.address, "--query-bank", str(tmp_path / "bank.npy"), "--set", "bank_of_targets=true"]
    plain = CliRunner().invoke(app, given)
    assert plain.exit_code == 0, plain.output
    assert "accept" not in plain.output
    said = CliRunner().invoke(app, [*given, "--set", f"relevant={tmp_path / 'right.json'}"])
    assert said.exit_code == 0, said.output
    assert "accept" in said.output


class Killed(BaseException):
    """Not caught, like kill -9."""


def kill_at(number, changing, patched):
    """Let the call of this number end the run, of those that change something."""
    calls = itertools.count(1)

    def counted(real):
        def call(*given, **named):
            if next(calls) == number:
                raise Killed
            return real(*given, **named)

        return call

    for kind, names in changing:
        for name in names:
            patched.setattr(kind, name, counted(getattr(kind, name)))


@pytest.mark.parametrize("store", with_slow("pgvector", "milvus"), indirect=True)
def test_run_that_ends_at_any_call_leaves_the_old_correction_whole(store, fitted, best, monkeypatch):
    monkeypatch.setattr(correcting, "PAGE", 50)
    done = hubless.publish(fitted, store.address)
    other = hubless.Index("nnn", metric="cosine", parameters={"k": 1, "weight": 3}, index="flat")
    other.fit(stores.BANK_QUERIES, stores.TARGETS[: stores.FIRST], ids=range(stores.FIRST), bank_of_targets=True)
    assert best(other) != best(fitted)
    number, killed = 0, True
    while killed:
        number += 1
        with monkeypatch.context() as patched:
            kill_at(number, store.changing(), patched)
            try:
                hubless.publish(other, store.address)
                killed = False
            except Killed:
                assert stores.asked(store, done.query) in (best(fitted), best(other)), number
    assert number > 5
    assert stores.asked(store, done.query) == best(other)


def test_ids_that_the_database_lacks_are_left_out(store, whole, best, fitted):
    done = hubless.publish(whole, store.address)
    assert (done.written, done.left_out) == (stores.FIRST, 0)
    strange = hubless.Index(metric="cosine", index="flat")
    strange.fit(stores.BANK_QUERIES, stores.TARGETS, ids=range(9000, 9000 + stores.COUNT), bank_of_targets=True)
    with pytest.raises(InputError, match="expected rows with the ids and the vectors of the collection"):
        hubless.publish(strange, store.address)
    rows = stores.asked(store, done.query)
    assert rows == [[row for row in line if row < stores.FIRST][:10] for line in rows]


@pytest.mark.parametrize("store", ["qdrant"], indirect=True)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"query_bank": np.ones((20, 3), np.float32)}, "16"),
        ({"query_bank": None}, "query bank: expected example queries, got none"),
        ({"sync": True}, "query bank: expected none with sync"),
        ({"into": "a b"}, "into: expected a name of up to 40 letters"),
    ],
)
def test_wrong_options_are_named(store, options, said):
    with pytest.raises(InputError, match=said):
        stores.correct(store, **options)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("photos", "expected one of qdrant://HOST"),
        ("oracle://h/t", "expected one of qdrant://HOST.*lancedb://.*got oracle://h/t"),
        ("qdrant://host:6333", "expected qdrant://HOST:6333/COLLECTION"),
        ("qdrant://host:many/photos", "expected qdrant://HOST:6333/COLLECTION"),
        ("pgvector://me:secret@127.0.0.1:1/db", "got pgvector://me:…@127.0.0.1:1/db"),
        ("pgvector://me:secret@127.0.0.1:1/db/t", "expected a PostgreSQL with pgvector that lets you in"),
        ("pgvector://me:x@secret@127.0.0.1:1/db/", "got pgvector://me:…@127.0.0.1:1/db/"),
        ("pgvector://me:x/secret@127.0.0.1:1/db/t", "got pgvector://me:…@127.0.0.1:1/db/t"),
        ("pgvector://me:12/secret@127.0.0.1:1/db/t", "a password has / as %2F.*got pgvector://me:…@127.0.0.1:1/db/t"),
        ("pgvector://me:12?secret@127.0.0.1:1/db/t", "a password has / as %2F.*got pgvector://me:…@127.0.0.1:1/db/t"),
        ("pgvector://me:x#secret@127.0.0.1:1/db/t", "got pgvector://me:…@127.0.0.1:1/db/t"),
        ("pgvector://me:secret:more@127.0.0.1:1/db", "got pgvector://me:…@127.0.0.1:1/db"),
        ("pgvector://me:secret", "got pgvector://me:…"),
        ("pgvector://?password=secret", r"got pgvector://\?password=…"),
        ("postgresql://me:secret@host/db/t", "expected one of qdrant://HOST.*got postgresql://me:…@host/db/t"),
        ("postgresql:me:secret@host/db/t", "got postgresql:me:…@host/db/t"),
        ("lancedb://host/photos", "on this machine, got a host"),
        ("chroma://h/a/b/c/photos", "with up to 2 names before the collection"),
        ("chroma://me:secret@h/photos", "no user and no password; CHROMA_TOKEN has the key"),
        ("redis:///folder/photos", "expected redis://HOST:6379/INDEX, got a folder"),
        ("qdrant://127.0.0.1:1/photos", "expected a Qdrant that lets you in"),
    ],
)
def test_wrong_addresses_are_named_without_passwords(address, said):
    if (scheme := address.partition(":")[0]) in stores.STORES:
        pytest.importorskip(stores.STORES[scheme].package)
    with pytest.raises(HublessError, match=said) as raised:
        hubless.correct(address, stores.BANK_QUERIES)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("scheme", ["qdrant", "chroma", "lancedb", "milvus"])
def test_missing_folder_is_refused_and_not_made(scheme, tmp_path):
    pytest.importorskip(stores.STORES[scheme].package)
    with pytest.raises(InputError, match=r"address: expected a database that is there .*, got .*typo"):
        open_database(f"{scheme}://{tmp_path}/typo/photos")
    assert not (tmp_path / "typo").exists()


PACKAGES = {"milvus": "pymilvus", "redis": "redis"}


@pytest.mark.parametrize("scheme", stores.STORES)
def test_missing_package_is_named_with_how_to_install_it(scheme, monkeypatch):
    package = PACKAGES.get(scheme, stores.STORES[scheme].package)
    monkeypatch.setitem(sys.modules, package, None)
    [entry] = entry_points(group=GROUP, name=scheme)
    monkeypatch.delitem(sys.modules, entry.module, raising=False)
    line = re.escape(how_to_install(scheme, PACKAGE))
    with pytest.raises(InputError, match=rf"the package \w+ for {scheme}:// \({line}"):
        open_database(f"{scheme}://host/a/b")


def test_corrected_vectors_rank_by_distance(store):
    done = stores.correct(store, metric="euclidean")
    rows = stores.TARGETS[: stores.FIRST]
    index = hubless.Index(metric="euclidean", index="flat").fit(stores.BANK_QUERIES, rows, bank_of_targets=True)
    assert stores.asked(store, done.query) == index.query(stores.QUERIES, 10).rows.tolist()
    assert stores.asked(store, done.query) != index.query(stores.QUERIES, 10, strength=0).rows.tolist()
    store.fill(stores.FIRST)
    assert hubless.correct(store.address, sync=True).written == stores.COUNT - stores.FIRST
    index.add(stores.TARGETS[stores.FIRST :])
    assert stores.asked(store, done.query) == index.query(stores.QUERIES, 10).rows.tolist()
