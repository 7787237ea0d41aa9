"""The memory that the workers of a server share: what is added stays, whoever is killed and whenever."""

import multiprocessing
import os
import signal

import pytest
from support.until import until

from hubless_service.observing.shared_counts import CountTable, SharedCounts
from hubless_service.processes.shared import Shared, SharedMemory, memory_to_send

MANY = 20_000
COUNTER = ("counter", "hubless_requests", "hubless_requests_total", ["route"], ["/a"], "Requests")
GAUGE = ("gauge", "hubless_waiting", "hubless_waiting", [], [], "Waiting")


def raise_numbers(shared):
    for _ in range(MANY):
        shared.loaded.rise()
    signal.pause()


@pytest.mark.parametrize("anonymous", [True, False])
def test_numbers_rise_for_all_processes_and_stay_when_these_are_killed(anonymous, monkeypatch):
    if not anonymous:
        monkeypatch.delattr(os, "memfd_create")
    memory = memory_to_send(3)
    here, context = Shared(memory, 0), multiprocessing.get_context("spawn")
    children = [context.Process(target=raise_numbers, args=[Shared(memory, slot)]) for slot in (1, 2)]
    for child in children:
        child.start()
    assert here.loaded.value <= 2 * MANY
    for _ in range(MANY):
        here.loaded.rise()
    until(lambda: here.loaded.value == 3 * MANY)
    for child in children:
        child.kill()
        child.join()
    assert here.loaded.value == 3 * MANY
    assert Shared(memory, 1).loaded.value == 3 * MANY


def test_numbers_of_a_process_alone_are_its_own():
    one, other = Shared(), Shared()
    one.loaded.rise()
    assert (one.loaded.value, other.loaded.value) == (1, 0)
    assert one.alone


def test_thousand_workers_that_die_leave_their_sum_and_not_a_byte_more():
    memory = SharedMemory(2)
    living = Shared(memory, 1)
    living.pids[1] = 7
    seen = SharedCounts(living)
    shown = seen.number(*COUNTER)
    waiting = seen.number(*GAUGE, multiprocess_mode="livesum")
    used = set()
    for pid in range(100, 1100):
        memory.words("pid")[0] = pid
        worker = SharedCounts(Shared(memory, 0))
        worker.number(*COUNTER).inc(2)
        assert worker.number(*GAUGE).get() == waiting.get() == 0  # nothing of the one before
        worker.number(*GAUGE).set(5.0)
        seen.added()
        assert waiting.get() == 5
        memory.words("pid")[0] = 0  # it dies
        assert waiting.get() == 0
        used.add(memory.table(0).cast("Q")[0])
    assert shown.get() == 2000
    assert len(used) == 1


def test_worker_that_is_killed_while_it_begins_a_number_leaves_a_whole_table():
    memory = SharedMemory(2).table(0)
    table = CountTable(memory)
    table.numbers[table.place("first")] = 1.5
    end = memory.cast("Q")[0]
    memory[8 * end : 8 * end + 16] = b"\xff" * 16  # of a number that was not yet there
    other = CountTable(memory)
    assert other.places == table.places
    assert other.numbers[other.place("sécond")] == 0
    table.refresh()
    assert list(table.places) == ["first", "sécond"]
    assert table.numbers[table.places["first"]] == 1.5


def test_numbers_that_other_workers_begin_are_told_once():
    memory = SharedMemory(2)
    one, other = SharedCounts(Shared(memory, 0)), SharedCounts(Shared(memory, 1))
    other.number(*COUNTER)
    assert one.added() == [("hubless_requests", {"route": "/a"})]
    assert one.added() == []
