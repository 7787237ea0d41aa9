"""Writes that come too late, or are too large."""

import asyncio
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter, sleep

import httpx
import numpy as np
import pytest
from support import small, writing
from support.contract import code_of
from support.server_process import served
from support.until import until
from support.writing import NAME, point, put_points, writable

import hubless
from hubless.store.durable import locked
from hubless.store.log import LOG_LOCK, Log
from hubless_service.http.problems import HttpProblem
from hubless_service.http.trace import Trace
from hubless_service.searching.shelf import Shelf
from hubless_service.searching.writer import Writer


@pytest.mark.slow
def test_writes_while_the_server_drains_are_answered_and_kept(tmp_path):
    writing.build(tmp_path)
    with served(tmp_path, grace_seconds=200) as server:
        with httpx.Client(base_url=f"{server.url}/v1/collections/{NAME}", timeout=60) as client:
            client.post("/count").raise_for_status()
            os.kill(server.pid, signal.SIGTERM)
            while httpx.get(f"{server.url}/readyz", timeout=60).json()["status"] == "ready":
                sleep(0.01)
            answer = put_points(client, point("late", 1))
            assert (answer.status_code, answer.json()["seq"]) == (200, 1)
        os.kill(server.pid, signal.SIGKILL)
    assert hubless.open(tmp_path, NAME).point("late").id == "late"


def test_arrow_body_above_the_limit_is_refused_naming_the_limit(tmp_path):
    writing.build(tmp_path)
    kind = {"Content-Type": "application/vnd.apache.arrow.stream"}
    with writable(tmp_path, max_body_bytes=2000) as client:
        for path in ("/points", "/bank"):
            answer = client.put(path, content=bytes(2001), headers=kind)
            assert code_of(answer) == (413, "body_too_large")
            assert "at most 2000 bytes" in answer.json()["detail"]


def test_write_whose_log_is_held_is_refused_in_time_and_holds_up_no_other_collection(tmp_path):
    writing.build(tmp_path)
    small.build_full(tmp_path, "others", correction="csls", parameters={"k": 3}, index="flat")
    with writable(tmp_path, default_timeout_ms=1500) as client:
        url = str(client.base_url)
        put = partial(client.put, "/points")
        with locked(tmp_path / NAME / LOG_LOCK):
            started = perf_counter()
            answer = put(json={"points": [point("held", 1)]})
            assert code_of(answer) == (504, "deadline_exceeded")
            assert perf_counter() - started < 30
            other = client.put(url.replace(NAME, "others") + "points", json={"points": [point("a", 1)]})
            assert (other.status_code, other.json()["seq"]) == (200, 1)
            assert put(json={"points": [point("held too", 1)]}).status_code == 504
        # those that were refused are not written; a busy machine may let this one wait too long, too
        assert until(lambda: put(json={"points": [point("after", 1)]}).json().get("seq")) == 1
    assert hubless.open(tmp_path, NAME).count == small.COUNT + 1


TOO_LARGE = [7e4] * small.DIM
"""What float16 cannot hold: that shows when the index stores it, after the write was planned."""


@pytest.fixture
def whole(tmp_path):
    small.build_full(tmp_path, NAME, correction="csls", parameters={"k": 3}, index="flat_fp16", metric="dot")
    return tmp_path


def put(client, wanted, vector=None, **options):
    vector = np.random.default_rng(len(wanted)).normal(size=small.DIM).tolist() if vector is None else vector
    return put_points(client, {"id": wanted, "vector": vector}, **options)


def test_wrong_write_is_refused_also_where_a_right_one_of_its_group_replaces_it(whole):
    with writable(whole) as client, ThreadPoolExecutor(10) as clients:
        with Log(whole / NAME).writing():  # what comes meanwhile waits together
            first = clients.submit(put, client, "first")
            time.sleep(0.3)
            wrong = clients.submit(put, client, "one", TOO_LARGE)
            time.sleep(0.2)
            right = clients.submit(put, client, "one")
            time.sleep(0.5)
        assert [sent.result().status_code for sent in (first, wrong, right)] == [200, 422, 200]


def test_write_that_comes_after_the_stop_is_told_so():
    writer = Writer(Shelf(), room=10, most_added=10, prepare=lambda: None)
    for thread in writer.stop():
        thread.join()
    with pytest.raises(HttpProblem, match="stopping") as caught:
        asyncio.run(writer.write(Trace("request"), NAME, 1, lambda transaction: (None, {}), 0.0))
    assert caught.value.code == "not_ready"
