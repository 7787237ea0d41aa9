"""Threads for searches and writes: which one works, and that nothing is left undone."""

import threading
from queue import SimpleQueue

from support.until import until

from hubless_service.searching.warm_threads import WarmThreads


def test_thread_that_worked_last_works_next_and_all_is_done_before_the_threads_end():
    warm, names = WarmThreads(3, "warm", lambda: None), SimpleQueue()
    warm.start()

    def named():
        warm.submit(lambda: names.put(threading.get_ident()))
        return names

    # if they took turns, it would never be one several times on end, however long a thread takes to be idle again
    until(lambda: len({named().get() for _ in range(4)}) == 1)
    for _ in range(50):
        named()
    for thread in warm.stop():
        thread.join()
    assert names.qsize() == 50
