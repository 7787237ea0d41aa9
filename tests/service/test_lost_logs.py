"""A log that is damaged or lost while the service runs or before it starts: named, not ready, and still served."""

import os
import resource
from contextlib import contextmanager, suppress

import pytest
from support import small, writing
from support.contract import code_of
from support.until import until
from support.writing import NAME, point, put_points, writable

from hubless.store.log import LOG


@pytest.fixture
def catalog(tmp_path):
    """The collection with five writes; the service that took them has stopped."""
    writing.build(tmp_path)
    with writing.writable(tmp_path) as client:
        for seed in range(5):
            put(client, seed).raise_for_status()
    return tmp_path


def put(client, seed):
    return put_points(client, point(f"new-{seed}", seed))


def ready(client):
    answer = client.get(f"http://{client.base_url.netloc.decode()}/readyz")
    return answer.status_code, answer.json()


def check_damaged(client):
    """Fail unless the damage is told, and what is left is served."""
    answer = put(client, 9)
    assert code_of(answer) == (503, "log_damaged"), answer.text
    until(lambda: ready(client)[0] == 503)
    _, document = ready(client)
    assert (document["code"], document["collections"][NAME]["code"]) == ("not_ready", "log_damaged")
    client.post("/query", json={"vector": [1.0] * small.DIM}).raise_for_status()


def test_stop_leaves_nothing_beside_the_log(catalog):
    assert [path.name for path in (catalog / NAME).glob(f"{LOG}-*")] == []


@pytest.mark.parametrize("length", [0, 8192])
def test_log_that_was_cut_is_damaged_and_the_service_not_ready(catalog, length):
    os.truncate(catalog / NAME / LOG, length)
    with writing.writable(catalog) as client:
        assert ready(client)[0] == 503
        check_damaged(client)


def test_log_that_is_deleted_is_noticed_before_a_write_is_answered(catalog):
    with writing.writable(catalog) as client:
        put(client, 6).raise_for_status()
        (catalog / NAME / LOG).unlink()
        check_damaged(client)


def test_log_that_cannot_be_followed_shows_until_it_can(tmp_path, caplog):
    caplog.set_level("INFO", "hubless.writes")
    writing.build(tmp_path)
    with writable(tmp_path) as client:

        def state():
            return client.get("/readyz").json()["collections"][NAME]

        client.base_url = client.base_url.copy_with(path="/")
        assert "log" not in state()
        (tmp_path / NAME / LOG).mkdir()  # in the place of the file, which is made by the first write
        until(lambda: "log" in state())
        assert state()["status"] == "ready"
        assert state()["log"]["code"] == "storage"
        assert state()["log"]["detail"].startswith(f"{LOG}: it cannot be ")
        (tmp_path / NAME / LOG).rmdir()
        until(lambda: "log" not in state())
    told = [record.getMessage() for record in caplog.records if record.name == "hubless.writes"]
    assert [line.partition(": ")[2].partition(": ")[0] for line in told] == [
        "writes cannot be followed",
        "writes are followed again",
    ]


def test_write_without_descriptors_is_refused_and_the_next_is_written(catalog):
    with writing.writable(catalog) as client:
        assert ready(client)[0] == 200  # by the connection that is used then
        with no_descriptors():
            assert put(client, 7).status_code == 503
        put(client, 8).raise_for_status()


@contextmanager
def no_descriptors():
    """Take all descriptors of the process but one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 1024), hard))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.dup(2))
        os.close(taken.pop())
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
