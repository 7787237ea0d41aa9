import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from support import small, writing
from support.segments import assert_stamps_stand_once

import hubless
from hubless.search.transaction import WritableCollection
from hubless.search.writes import Put, Remove
from hubless.store.log import LOG, Log


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


def test_look_leaves_a_collection_alone_while_another_thread_changes_it_unless_it_is_to_wait(living, home):
    remove(home, "target-8")
    held, release = threading.Event(), threading.Event()

    def change():
        with living.changing:
            held.set()
            release.wait()

    with ThreadPoolExecutor(2) as pool:
        changing = pool.submit(change)
        held.wait()
        assert living.refresh() is None
        waiting = pool.submit(living.refresh, wait=True)
        assert not waiting.done()
        release.set()
        assert waiting.result()
        changing.result()
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
