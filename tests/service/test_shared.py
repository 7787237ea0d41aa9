"""What the workers of a server share: what is counted stays, whoever is killed and whenever."""

import multiprocessing
import signal
from concurrent.futures import ThreadPoolExecutor

from support.until import until

from hubless_service.http.trace import Trace
from hubless_service.observing.metrics import Metrics
from hubless_service.processes.shared import alone
from hubless_service.processes.workers import shared_by

MANY = 2000
ANSWERED = 'hubless_requests_total{method="GET",route="/a",status="200"}'
WAITING = "hubless_waiting_queries"


def count(given, slot, waiting):
    """Count answers in a worker, and wait to be killed."""
    metrics = Metrics(given._replace(slot=slot))
    metrics.queue = lambda: waiting
    for _ in range(MANY):
        metrics.observe("/a", "GET", 200, 0.001, Trace("id"))
    metrics.show_waiting()
    given.loaded[slot] = 1
    signal.pause()


def told(metrics):
    lines = metrics.page().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def test_counts_of_all_workers_add_up_and_stay_when_these_are_killed_and_replaced(tmp_path):
    given = shared_by(3, str(tmp_path))
    found = []

    def asked():
        """In a process of its own: how numbers are kept is a choice of a process."""
        context = multiprocessing.get_context("spawn")
        reader, writer = context.Pipe(duplex=False)
        child = context.Process(target=tell, args=[given._replace(slot=2), writer])
        child.start()
        found.append(reader.recv())
        child.join()
        return found[-1]

    for times in (1, 2):
        given.loaded[:] = [0, 0, 0]
        children = [
            multiprocessing.get_context("spawn").Process(target=count, args=[given, slot, slot + 1]) for slot in (0, 1)
        ]
        for child in children:
            child.start()
        until(lambda: sum(given.loaded) == 2)
        for child in children:
            child.kill()
            child.join()
        page = asked()
        assert page[ANSWERED] == 2 * MANY * times
        assert page[WAITING] == 3  # not of those before, too
        assert page['hubless_request_seconds_count{route="/a"}'] == 2 * MANY * times
        assert len([name for name in page if name.startswith("hubless_build_info")]) == 1


def tell(given, writer):
    writer.send(told(Metrics(given)))


def test_numbers_of_a_process_alone_are_its_own():
    one, other = Metrics(alone()), Metrics(alone())
    with ThreadPoolExecutor(8) as pool:
        [*pool.map(lambda _: one.observe("/a", "GET", 200, 0.001, Trace("id")), range(8))]
    assert (told(one)[ANSWERED], ANSWERED in told(other)) == (8, False)
