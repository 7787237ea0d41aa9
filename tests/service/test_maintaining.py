"""Work on collections in the background: merges and fits, in processes of their own."""

import os
import re
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support import small
from support.printed import write_sample
from support.until import until
from support.writing import NAME, build, model, point, put_points, writable

import hubless
from hubless.errors import StorageError
from hubless.search.collection import open_collection
from hubless.search.transaction import WritableCollection
from hubless.store.bank_order import drop_order, give_bank, read_order
from hubless.store.durable import locked
from hubless.store.locks import lease
from hubless_service.maintaining import maintainer as maintaining, work
from hubless_service.maintaining.maintainer import Maintainer, is_due
from hubless_service.maintaining.work import FAILED, MaintenanceTask, do_task, is_running, read_status

BANK = np.random.default_rng(5).normal(size=(60, small.DIM)).astype(np.float32)


@pytest.fixture
def home(tmp_path):
    build(tmp_path)
    with writable(tmp_path) as client:
        put_points(client, point("new", 1)).raise_for_status()
    return tmp_path / NAME


def opened(home):
    return hubless.open(home.parent, NAME)


def settings(merge_at=0, keep=None, sample=None):
    return SimpleNamespace(merge_at=merge_at, max_added=100, keep_versions=keep, query_sample=sample)


@pytest.fixture
def start(home):
    """Start a maintainer of the catalog; it is stopped at the end."""
    started = []

    def start(merge_at=0):
        served = [living(home.parent)]
        made = Maintainer(home.parent, lambda: served, settings(merge_at, keep=1), lambda: None)
        made.start()
        started.append(made)
        return made

    yield start
    for each in started:
        for thread in each.stop():
            thread.join()


def test_bank_that_waits_is_fitted_by_a_service_that_starts_later(home, start):
    order = give_bank(home, BANK, append=False)
    start()
    until(lambda: read_order(home) is None and not list((home / "bank").glob("*.npy")))
    made = opened(home).manifest
    assert (made.bank.queries, made.bank_order, made.log_seq) == (60, order.number, 1)


def test_bank_that_a_version_has_is_not_fitted_twice(home):
    order = give_bank(home, BANK, append=True)
    known = opened(home).manifest.bank.queries
    made = hubless.refit(home.parent, NAME, BANK, append=True, bank_order=order.number)
    assert made.bank.queries == known + 60
    assert do_task(bank_of(home)) == 0  # as after a kill between the version and the end of the order
    assert (opened(home).version, read_order(home)) == (made.version, None)


def test_work_waits_while_another_job_changes_the_collection(home, start, monkeypatch):
    monkeypatch.setattr(maintaining, "_BUSY_SECONDS", 0.2)
    monkeypatch.setattr(maintaining, "LOOK_SECONDS", 0.05)
    with lease(home, "hubless reindex"):
        maintainer = start(merge_at=1)
        until(lambda: (NAME, "flush") in maintainer._not_before)
        assert opened(home).parts.added == 1
    until(lambda: opened(home).parts.added == 0)


def test_bank_that_another_worker_fits_is_said_to_wait_once_each(home, start, monkeypatch, caplog):
    monkeypatch.setattr(maintaining, "_BUSY_SECONDS", 0.01)
    monkeypatch.setattr(maintaining, "LOOK_SECONDS", 0.01)
    caplog.set_level("INFO", "hubless.maintenance")
    tries = []
    note = Maintainer._note
    monkeypatch.setattr(Maintainer, "_note", lambda self, *given: tries.append(given) or note(self, *given))
    maintainer = start()
    with locked(home / work.LOCK):
        for banks in (1, 2):
            order = give_bank(home, BANK, append=False)
            seen = len(tries)
            until(lambda seen=seen: len(tries) > seen + 3)
            assert caplog.text.count("bank waits for another job") == banks
            drop_order(home, order.number)
            until(lambda: not maintainer._told)


def test_work_whose_process_is_gone_has_failed_and_says_so(home):
    work._Reporter(bank_of(home), 3).step("fitting")
    status = read_status(home)
    assert (status.state, status.number, status.step) == ("failed", 3, "fitting")
    assert status.problem["detail"] == "The process that did it ended before it was finished."


def test_work_whose_process_is_killed_is_done_again(home, start, monkeypatch):
    monkeypatch.setattr(maintaining, "_AFTER_FAILURE", 0.5)
    monkeypatch.setattr(maintaining, "LOOK_SECONDS", 0.05)
    order = give_bank(home, BANK, append=False)
    start()
    os.kill(until(child), signal.SIGKILL)
    until(lambda: not is_running(home))
    assert opened(home).count == len(model()) + 1
    until(lambda: opened(home).manifest.bank_order == order.number)


def child():
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            status, command = (entry / "stat").read_text(), (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if b"maintaining.work" in command and int(status.rpartition(")")[2].split()[1]) == os.getpid():
            return int(entry.name)
    return None


def test_refused_bank_is_dropped_and_the_reason_kept(home):
    give_bank(home, BANK[:1], append=False)
    assert do_task(bank_of(home)) == FAILED
    status = read_status(home)
    assert (status.state, read_order(home)) == ("failed", None)
    assert status.problem["detail"] == "query bank: expected at least 2 queries, better 100 and more, got 1"


def with_live_queries():
    """Targets (100, 16), which lean more or less to one direction, and 300 queries, near to one each, which all do."""
    rng = np.random.default_rng(4)
    plain, common = rng.normal(size=(100, 16)), 2 * np.eye(16)[0]
    queries = np.repeat(plain, 3, axis=0) + 0.6 * rng.normal(size=(300, 16)) + common
    return tuple(rows.astype(np.float32) for rows in (plain + rng.normal(size=(100, 1)) * common / 2, queries))


TARGETS, LIVE = with_live_queries()


@pytest.fixture
def raw(tmp_path):
    """A raw collection with hubs, whose live queries are sampled: its folder, and a function that asks queries."""
    catalog, sample = tmp_path / "catalog", tmp_path / "sample"
    hubless.build(catalog, NAME, TARGETS, correction="none", progress=False)

    def ask(queries, clients=20):
        asked = queries / np.linalg.norm(queries, axis=1, keepdims=True)
        write_sample(sample, asked, [f"client-{number}" for number in range(clients)], NAME, time.time())

    return catalog / NAME, sample, ask


def to_be_sampled(home):
    return give_bank(home, np.empty((0, TARGETS.shape[1]), np.float32), append=False, sampled=300)


def test_raw_collection_corrects_itself_once_enough_live_queries_are_sampled(raw, monkeypatch):
    home, sample, ask = raw
    monkeypatch.setattr(maintaining, "LOOK_SECONDS", 0.05)
    to_be_sampled(home)
    made = Maintainer(home.parent, lambda: [living(home.parent)], settings(sample=sample), lambda: None)
    ask(LIVE[:299])
    assert made._waiting() == []
    ask(LIVE[299:])
    made.start()
    until(lambda: read_order(home) is None)
    for thread in made.stop():
        thread.join()
    manifest = opened(home).manifest
    assert (manifest.correction.name, 100 < manifest.bank.queries <= 200) == ("auto", True)
    assert re.search(r"by itself on \d{4}-\d\d-\d\d, with \d+ of 300 sampled", manifest.notes[-1])


def test_live_queries_that_are_no_good_bank_leave_the_collection_raw(raw):
    home, sample, ask = raw
    ask(np.random.default_rng(1).normal(size=(300, TARGETS.shape[1])).astype(np.float32))
    to_be_sampled(home)
    assert do_task(bank_of(home)._replace(sample=sample)) == FAILED
    assert read_status(home).problem["detail"].startswith("sampled: expected live queries that the correction suits")
    assert (read_order(home), opened(home).manifest.bank) == (None, None)


def test_bank_that_takes_the_place_of_one_with_enough_live_queries_waits_on(raw):
    home, sample, ask = raw
    ask(LIVE[:100])
    order = to_be_sampled(home)
    assert do_task(bank_of(home)._replace(sample=sample)) == 0
    assert (read_order(home), read_status(home).version) == (order, None)
    assert opened(home).manifest.bank is None


def test_disk_that_refuses_leaves_the_bank_for_another_time(home, monkeypatch):
    order = give_bank(home, BANK, append=False)
    monkeypatch.setattr(work, "refit", refused)
    assert do_task(bank_of(home)) == FAILED
    assert read_order(home) == order
    assert read_status(home).problem["code"] == "storage"


def refused(*given, **named):
    raise StorageError(Path("versions"), "the disk is full")


def bank_of(home):
    return MaintenanceTask(home.parent, NAME, "bank", keep=None)


def test_service_merges_by_itself_what_was_written_enough_to_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(maintaining, "LOOK_SECONDS", 0.05)
    build(tmp_path)
    first = hubless.open(tmp_path, NAME).version
    with writable(tmp_path, merge_at=3, poll_seconds=0.05) as client:
        put_points(client, point("a", 1), point("b", 2)).raise_for_status()
        assert client.post("/count").json()["version"] == first
        assert not is_due(living(tmp_path), 3, 100)
        put_points(client, point("c", 3)).raise_for_status()
        until(lambda: client.post("/count").json()["version"] != first)
        document = client.get(str(client.base_url).rstrip("/")).json()
    assert (document["count"], document["writes"]["added"]) == (len(model()) + 3, 0)
    assert hubless.Catalog(tmp_path).version_ids(NAME) == [first, document["version"]]
    assert read_status(tmp_path / NAME).version == document["version"]


def living(catalog):
    log = hubless.Catalog(catalog).log(NAME)
    found = WritableCollection(open_collection(catalog, NAME), log)
    found.refresh()
    return found


def test_merge_is_due_for_added_targets_gone_targets_and_writes_of_two_percent(tmp_path, monkeypatch):
    build(tmp_path)
    with writable(tmp_path, merge_at=0) as client:
        put_points(client, point("a", 1), point("b", 2)).raise_for_status()
        assert [is_due(living(tmp_path), at, 100) for at in (0, 2, 3)] == [False, True, False]
        client.post("/points/delete", json={"ids": ["target-8", "target-9", "target-10"]}).raise_for_status()
        assert [is_due(living(tmp_path), at, 100) for at in (3, 4)] == [True, False]
        for title in ("x", "y"):
            client.patch("/points", json={"points": [{"id": "a", "payload": {"title": title}}]}).raise_for_status()
        assert [is_due(living(tmp_path), at, 100) for at in (4, 5)] == [True, False]
    with monkeypatch.context() as patched:
        patched.setattr(maintaining, "SHARE", 0.2)
        assert not is_due(living(tmp_path), 1, 100)
    before = living(tmp_path)
    hubless.merge(tmp_path, NAME)  # as another worker does
    assert not is_due(before, 1, 100)


def test_bank_that_fails_again_and_again_is_left_until_it_is_asked_for(home, start, monkeypatch):
    monkeypatch.setattr(maintaining, "_AFTER_FAILURE", 0.0)
    give_bank(home, BANK, append=False)
    ended = []
    monkeypatch.setattr(Maintainer, "_work", lambda self, task: ended.append(task.work) or FAILED)
    made = start()
    until(lambda: len(ended) == maintaining._MOST_FAILURES)
    made._woken.set()
    until(lambda: not made._woken.is_set())
    made.fit(NAME)
    until(lambda: len(ended) > maintaining._MOST_FAILURES)
    assert set(ended) == {"bank"}
