import multiprocessing
import sqlite3
from contextlib import contextmanager, suppress

import pytest
from support.disks import disk, filled, remount

from hubless.errors import LogDamaged, StorageError
from hubless.store import log as logs
from hubless.store.log import LOG, Log


@pytest.fixture
def log(tmp_path):
    log = Log(tmp_path)
    yield log
    log.close()


def write(log, *bodies, kind="put"):
    with log.writing() as appender:
        for body in bodies:
            appender.add(kind, body)
        appender.commit()
    return appender.last


def bodies(log, seq=0):
    return [entry.body for entry in log.since(seq)]


def test_nothing_was_written_to_a_folder_without_a_log(log):
    assert (log.last(), log.first(), log.since(0)) == (0, 1, [])
    assert not log.path.exists()


def test_writes_are_numbered_from_one_and_read_back_in_order(log, tmp_path):
    assert write(log, b"a", b"b") == 2
    assert write(log, b"c", kind="remove") == 3
    assert [tuple(entry) for entry in log.since(1)] == [(2, "put", b"b"), (3, "remove", b"c")]
    other = Log(tmp_path)
    assert bodies(other) == [b"a", b"b", b"c"]
    other.close()


def test_what_is_not_committed_is_not_kept(log):
    write(log, b"a")
    with suppress(ZeroDivisionError), log.writing() as appender:
        appender.add("put", b"b")
        raise ZeroDivisionError
    with log.writing() as appender:
        appender.add("put", b"c")
    assert bodies(log) == [b"a"]
    assert write(log, b"d") == 2


def test_what_was_cut_off_is_gone_and_numbers_go_on(log):
    write(log, b"a", b"b", b"c")
    with log.writing() as appender:
        appender.cut(2)
    assert (log.first(), log.last(), bodies(log, 2)) == (3, 3, [b"c"])
    with log.writing() as appender:
        appender.cut(3)
        appender.cut(1)
    assert (log.first(), log.last()) == (4, 3)
    assert write(log, b"d") == 4
    with pytest.raises(LogDamaged, match="up to 3 were cut off"):
        log.since(2)


@pytest.mark.parametrize("state", ["full", "read-only"])
def test_log_is_read_where_no_file_can_be_made_beside_it_and_followed_when_one_can(tmp_path, state):
    with disk(tmp_path / "disk", 8) as home:
        first, second = Log(home), Log(home)
        write(first, b"a", b"b")
        first.close()  # the last one: nothing stays beside the file
        with filled(home / LOG, 0) if state == "full" else read_only(home):
            assert (second.first(), second.last(), bodies(second)) == (1, 2, [b"a", b"b"])
            with pytest.raises(StorageError):
                write(second, b"c")
        write(first, b"d")
        assert (second.last(), bodies(second)) == (3, [b"a", b"b", b"d"])
        first.close()
        second.close()


@contextmanager
def read_only(path):
    remount(path, "ro")
    try:
        yield
    finally:
        remount(path, "rw")


def test_logs_that_rest_are_closed_where_few_may_be_open_and_are_written_to_again(tmp_path, monkeypatch):
    monkeypatch.setattr(logs, "most_open", lambda: 2)
    known = [Log(tmp_path / name) for name in "abcd" if not (tmp_path / name).mkdir()]
    for _ in range(2):
        for log in known:
            write(log, b"x")
        assert [log.path.with_name(f"{LOG}-wal").exists() for log in known] == [False, False, True, True]
    assert [bodies(log) for log in known] == [[b"x", b"x"]] * 4
    for log in known:
        log.close()


def test_much_is_read_in_parts(log):
    write(log, *[bytes(1000)] * 10)
    found, parts = [], 0
    while part := log.since(found[-1].seq if found else 0, most_bytes=2500):
        found += part
        parts += 1
    assert [entry.seq for entry in found] == list(range(1, 11))
    assert parts == 4


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE writes SET body = x'00' WHERE seq = 3",
        "UPDATE writes SET kind = 'remove' WHERE seq = 3",
        "UPDATE writes SET body = NULL WHERE seq = 3",
        "DELETE FROM writes WHERE seq = 3",
    ],
)
def test_writes_before_a_damaged_one_are_read_and_that_one_is_named(log, damage):
    write(log, b"a", b"b", b"c", b"d")
    log.close()
    connection = sqlite3.connect(log.path)
    connection.execute("CREATE TABLE copied AS SELECT * FROM writes")
    connection.execute("DROP TABLE writes")
    connection.execute("ALTER TABLE copied RENAME TO writes")
    connection.execute(damage)
    connection.commit()
    connection.close()
    assert bodies(log) == [b"a", b"b"]
    with pytest.raises(LogDamaged, match="write 3 "):
        log.since(2)


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to look at " * 30, b"SQLite format 3\0" + bytes(4080)]
)
def test_file_that_is_no_log_is_named(log, content):
    log.path.write_bytes(content)
    for use in (log.last, lambda: log.since(0), lambda: write(log, b"a")):
        with pytest.raises(StorageError, match=LOG):
            use()
    assert log.path.read_bytes() == content


def _write_some(folder, name):
    log = Log(folder)
    for number in range(20):
        write(log, f"{name}-{number}".encode())
    log.close()


def test_processes_that_write_at_once_lose_nothing(log, tmp_path):
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write_some, args=[tmp_path, name]) for name in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    found = [body.decode() for body in bodies(log)]
    assert len(found) == 60
    for name in "abc":
        assert [each for each in found if each[0] == name] == [f"{name}-{number}" for number in range(20)]


def test_creation_that_was_killed_is_done_again(log):
    for name in (f".{LOG}.new", f".{LOG}.new-wal", f".{LOG}.new-shm"):
        (log.path.parent / name).write_bytes(b"half of it")
    assert write(log, b"a") == 1
    assert sorted(path.name for path in log.path.parent.iterdir() if path.name[0] == ".") == []
