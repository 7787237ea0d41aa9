import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from support import small, writing
from support.segments import assert_stamps_stand_once

import hubless
from hubless.search.transaction import WritableCollection
from hubless.search.writes import Put, Remove
from hubless.store.log import LOG, LOG_SEEN, Log
from hubless.store.notes import Note


@pytest.fixture
def home(tmp_path):
    writing.build(tmp_path)
    return tmp_path / writing.NAME


@pytest.fixture
def living(home):
    log = Log(home)
    yield WritableCollection(hubless.Collection(hubless.open(home.parent, writing.NAME).parts), log)
    log.close()


def remove(home, wanted):
    small.record(Log(home), Remove(pa.array([wanted])))


def times(home):
    return {path: path.stat().st_mtime_ns for path in home.glob(f"{LOG}*")}


def test_look_finds_a_write_that_leaves_the_times_of_the_files_as_they_were(living, home):
    assert not living.refresh()
    remove(home, "target-8")
    assert living.refresh()
    assert not living.refresh()
    before = times(home)
    remove(home, "target-9")
    for path, when in before.items():
        os.utime(path, ns=(when, when))
    assert times(home) == before
    assert living.refresh()
    assert (living.current.seq, living.current.count) == (2, len(small.IDS) - 2)
    assert not living.refresh()


def test_number_of_a_lost_write_is_looked_for_once_and_again_when_it_is_given_anew(living, home):
    Note(home / LOG_SEEN).put(3)  # of writes that a power cut has taken
    assert living.is_behind
    assert not living.refresh()
    assert not living.is_behind
    for wanted in ("target-7", "target-8"):
        write = Remove(pa.array([wanted]))
        with living.log.writing(inside=living.changing) as appender:
            transaction = living.begin()
            transaction.add(appender.add(write.kind, write.encode()), write)
            appender.commit()
            living.commit(transaction)
    assert not living.is_behind
    remove(home, "target-9")
    assert living.is_behind
    assert living.refresh()
    assert not living.is_behind


def test_look_leaves_a_collection_alone_while_another_thread_changes_it_unless_it_is_to_wait(living, home):
    remove(home, "target-8")
    with ThreadPoolExecutor(1) as another, ThreadPoolExecutor(1) as pool:
        another.submit(living.changing.acquire).result()
        assert living.refresh() is None
        waiting = pool.submit(living.refresh, wait=True)
        assert not waiting.done()
        another.submit(living.changing.release).result()
        assert waiting.result()
    assert living.current.seq == 1


def test_ids_that_are_put_again_before_anybody_looks_are_there_once_as_they_were_put_last(living, home):
    rows = small.vectors(5, 3)

    def put(ids, first):
        return Put(rows[first : first + len(ids)], pa.array([*ids], pa.large_string()), None)

    small.record(Log(home), put("abc", 0), Remove(pa.array(["c"], pa.large_string())), put("ba", 3))
    assert living.refresh()
    last = np.arange(len(small.IDS), living.current.count)
    assert living.current.ids(last) == ["b", "a"]
    np.testing.assert_array_equal(living.current.vectors(last), rows[3:])
    assert_stamps_stand_once(living.current.parts.targets)
