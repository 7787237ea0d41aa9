"""Right and wrong writes that wait together: a wrong one is refused, and no other with it."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support import small
from support.writing import NAME, scrolled, writable

from hubless.store.log import Log

TOO_LARGE = [7e4] * small.DIM
"""What float16 cannot hold: that shows when the index stores it, after the write was planned."""


@pytest.fixture
def catalog(tmp_path):
    small.build_full(tmp_path, NAME, correction="csls", parameters={"k": 3}, index="flat_fp16", metric="dot")
    return tmp_path


def put(client, wanted, vector=None, **options):
    vector = np.random.default_rng(len(wanted)).normal(size=small.DIM).tolist() if vector is None else vector
    return client.put("/points", json={"points": [{"id": wanted, "vector": vector}], **options})


def test_wrong_writes_of_a_group_are_refused_alone(catalog):
    with writable(catalog) as client, ThreadPoolExecutor(40) as clients:
        with Log(catalog / NAME).writing():  # what comes meanwhile waits together
            first = clients.submit(put, client, "first")
            time.sleep(0.3)
            right = [clients.submit(put, client, f"right-{number}") for number in range(20)]
            wrong = [clients.submit(put, client, "wrong", TOO_LARGE) for _ in range(10)]
            insert = clients.submit(put, client, "wrong", mode="insert")  # right, as the others store nothing
            time.sleep(0.5)
        answers = [sent.result() for sent in (first, *right, insert)]
        assert [answer.status_code for answer in answers] == [200] * len(answers), answers[1].text
        assert len({answer.json()["seq"] for answer in answers}) == len(answers)
        for sent in wrong:
            assert (sent.result().status_code, sent.result().json()["code"]) == (422, "invalid_input")
        found = {each["id"] for each in scrolled(client, limit=100)}
    assert {"first", "wrong", *(f"right-{number}" for number in range(20))} <= found


def test_wrong_write_is_refused_also_where_a_right_one_of_its_group_replaces_it(catalog):
    with writable(catalog) as client, ThreadPoolExecutor(10) as clients:
        with Log(catalog / NAME).writing():  # what comes meanwhile waits together
            first = clients.submit(put, client, "first")
            time.sleep(0.3)
            wrong = clients.submit(put, client, "one", TOO_LARGE)
            time.sleep(0.2)
            right = clients.submit(put, client, "one")
            time.sleep(0.5)
        assert [sent.result().status_code for sent in (first, wrong, right)] == [200, 422, 200]
