import shutil
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from support import small

import hubless
from hubless.errors import HublessError, LogDamaged
from hubless.search.writes import Remove
from hubless.store.log import LOG, LOG_LAST, Log

NAME = "photos"
IN_FILE, IN_WAL = 15, 25
BODIES = [np.random.default_rng(number).bytes(300 + 400 * (number % 7)) for number in range(IN_FILE + IN_WAL)]


def write(log, *bodies, **options):
    with log.writing(**options) as appender:
        for body in bodies:
            appender.add("put", body)
        appender.commit()
    return appender.last


def written(home):
    home.mkdir()
    log = Log(home)
    for number, body in enumerate(BODIES):
        write(log, body)
        if number == IN_FILE - 1:
            log.close()
    return log


def read(home):
    """What a log gives, or "named" if it says that something cannot be read."""
    log = Log(home)
    found = []
    try:
        while part := log.since(len(found)):
            found += part
        log.last()
        write(log)
    except HublessError:
        return "named"
    finally:
        log.close()
    return "whole" if [each.body for each in found] == BODIES else "silent"


@pytest.mark.parametrize("killed", [True, False], ids=["killed", "stopped"])
@pytest.mark.parametrize("name", [LOG, f"{LOG}-wal", LOG_LAST])
def test_no_flipped_bit_and_no_lost_end_drops_writes_without_a_word(tmp_path, name, killed):
    log = written(tmp_path / "made")
    if not killed:
        log.close()
    state = tmp_path / "state"
    shutil.copytree(tmp_path / "made", state, ignore=shutil.ignore_patterns("*-shm"))
    log.close()
    if not (state / name).exists():
        assert not killed  # an orderly stop leaves no WAL
        return
    content, chance, found = (state / name).read_bytes(), np.random.default_rng(7), Counter()
    for place in range(0, len(content), max(1, len(content) // 60)):
        for damaged in (content[:place], flipped(content, place, chance)):
            (state / name).write_bytes(damaged)
            shutil.copytree(state, tmp_path / "tried")
            found[read(tmp_path / "tried")] += 1
            shutil.rmtree(tmp_path / "tried")
    assert found["silent"] == 0
    assert found.total() >= 60
    if name == LOG_LAST:
        assert found["named"] == 0  # the second witness is no reason to refuse a log that is whole
    elif name != LOG:
        assert found["named"] == found.total()


def write_while(log, happens):
    with log.writing() as appender:
        appender.add("put", b"more")
        happens()
        appender.commit()


def flipped(content, place, chance):
    damaged = bytearray(content)
    damaged[place] ^= 1 << int(chance.integers(8))
    return bytes(damaged)


def delete(home):
    (home / LOG).unlink()


def delete_all(home):
    for path in home.glob(f"{LOG}*"):
        if path.name != LOG_LAST:
            path.unlink()


def replace(home):
    """By an older copy of itself."""
    delete_all(home)
    (home.parent / "older").mkdir()
    log = Log(home.parent / "older")
    write(log, *BODIES[:IN_FILE])
    log.close()
    shutil.copyfile(log.path, home / LOG)


@pytest.mark.parametrize("loss", [delete, delete_all, replace])
@pytest.mark.parametrize("when", ["before", "while"])
def test_log_that_is_deleted_or_replaced_takes_no_write(tmp_path, loss, when):
    log = written(tmp_path / "made")
    if when == "before":
        loss(tmp_path / "made")
        with pytest.raises(LogDamaged):
            write(log, b"more")
    else:
        with pytest.raises(LogDamaged, match="deleted or replaced"):
            write_while(log, lambda: loss(tmp_path / "made"))
    with pytest.raises(LogDamaged):
        log.last()
    with pytest.raises(LogDamaged):
        write(Log(tmp_path / "made"), b"more")
    assert read(tmp_path / "made") == "named"


def test_writes_that_did_not_wait_for_the_disk_raise_no_alarm_after_a_power_cut(tmp_path):
    log = written(tmp_path / "made")
    shutil.copytree(tmp_path / "made", tmp_path / "copy")
    write(log, b"memory", durable=False)
    shutil.copyfile(tmp_path / "made" / LOG_LAST, tmp_path / "copy" / LOG_LAST)
    assert read(tmp_path / "copy") == "whole"
    log.close()


@pytest.fixture
def catalog(tmp_path):
    small.build_full(tmp_path / "catalog", NAME, correction="csls", parameters={"k": 3}, index="flat")
    made = hubless.Catalog(tmp_path / "catalog")
    put(made, "a")
    shutil.copytree(made.path / NAME, tmp_path / "before", ignore=shutil.ignore_patterns("versions"))
    put(made, "b")
    hubless.merge(made.path, NAME)
    return made


def put(catalog, wanted):
    return small.record(catalog.log(NAME), Remove(pa.array([wanted])))


def lose_log(catalog):
    for path in (catalog.path / NAME).glob(f"{LOG}*"):
        path.unlink()


def restore_older_log(catalog, before):
    lose_log(catalog)
    for path in before.glob(f"{LOG}*"):
        shutil.copyfile(path, catalog.path / NAME / path.name)


@pytest.mark.parametrize("older", [False, True], ids=["missing", "older"])
def test_numbers_go_on_above_every_version_when_the_log_is_older(catalog, tmp_path, older):
    restore_older_log(catalog, tmp_path / "before") if older else lose_log(catalog)
    assert hubless.open(catalog.path, NAME).seq == 2
    assert catalog.log(NAME).last() == 2
    assert put(catalog, small.IDS[1]) == 3
    opened = hubless.open(catalog.path, NAME)
    assert (opened.seq, opened.count) == (3, small.COUNT - 1)
    hubless.merge(catalog.path, NAME, keep=1)
    assert hubless.open(catalog.path, NAME).manifest.log_seq == 3
    assert put(catalog, small.IDS[2]) == 4


def test_rollback_to_a_version_whose_writes_an_older_log_lacks_takes_no_writes(catalog, tmp_path):
    restore_older_log(catalog, tmp_path / "before")
    catalog.rollback(NAME)
    with pytest.raises(LogDamaged, match="write 2 cannot be read"):
        hubless.open(catalog.path, NAME)
    catalog.rollback(NAME, catalog.version_ids(NAME)[-1])
    assert put(catalog, small.IDS[1]) == 3


def test_log_that_is_older_than_what_was_answered_is_called_damaged(catalog, tmp_path):
    put(catalog, "c")
    last = (catalog.path / NAME / LOG_LAST).read_bytes()
    restore_older_log(catalog, tmp_path / "before")
    (catalog.path / NAME / LOG_LAST).write_bytes(last)
    with pytest.raises(LogDamaged, match="writes after 2 cannot be read, and 3 were answered"):
        put(catalog, "d")
