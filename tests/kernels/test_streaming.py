import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event

import numpy as np
import pytest
from support import naive
from support.problems import normal, source
from support.processes import python
from threadpoolctl import threadpool_info

from hubless.kernels import reductions, streaming
from hubless.vectors.sources import StreamedVectors


def blas_threads():
    """Of the BLAS that makes the products; one with OpenMP, as Faiss has, keeps a number for each thread."""
    return {
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas" and library.get("threading_layer") != "openmp"
    }


class Whole:
    """The products themselves."""

    def __init__(self, rows, columns):
        self.matrix = np.full((rows, columns), np.nan, np.float32)

    def add(self, rows, products, first):
        self.matrix[rows, first : first + products.shape[1]] = products

    def result(self):
        return self.matrix


class Maximum:
    def __init__(self, rows):
        self.largest = np.full(rows, -np.inf, np.float32)

    def add(self, rows, products, first):
        self.largest[rows] = np.maximum(self.largest[rows], products.max(axis=1))

    def result(self):
        return self.largest


@pytest.fixture(params=[0, 2**30], ids=["bank read anew", "bank in memory"])
def small_blocks(request, monkeypatch):
    for name, value in (("TARGET_ROWS", 5), ("BANK_ROWS", 7), ("STRIP_SIZE", 14), ("RESIDENT_BYTES", request.param)):
        monkeypatch.setattr(streaming, name, value)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("workers", [1, 2, 5, 64])
@pytest.mark.parametrize("n", [1, 5, 6, 43])
def test_every_product_arrives_once_in_its_place_whatever_the_number_of_workers(n, workers, monkeypatch):
    monkeypatch.setattr(streaming, "cores", lambda: workers)
    bank, targets = normal(16, 4, seed=1), normal(n, 4, seed=2)
    told = []
    matrix, largest = streaming.stream(
        source(bank), source(targets), partial(Whole, columns=16), Maximum, advance=told.append
    )
    np.testing.assert_allclose(matrix, targets @ bank.T, atol=1e-6)
    np.testing.assert_array_equal(largest, matrix.max(axis=1))
    assert sum(told) == n


def test_rankings_with_several_offsets_are_the_naive_ones_over_several_parts(monkeypatch):
    monkeypatch.setattr(streaming, "PART_BYTES", 1)
    queries, targets = normal(40, 8, seed=1), normal(3000, 8, seed=2)
    offsets = normal(1, 3000, seed=3)[0]
    together = reductions.rankings(queries, source(targets), 7, offsets, None)
    for (scores, rows), given in zip(together, (offsets, 0), strict=True):
        expected = naive.top_k(naive.similarities(queries, targets) - given, 7)
        np.testing.assert_allclose(scores, expected[0], atol=1e-5)
        np.testing.assert_array_equal(rows, expected[1])


@pytest.mark.skipif(blas_threads() == {1}, reason="BLAS has one thread anyway")
class TestThreadsOfBlas:
    """Their number is the whole process's. With `threadpool_limits` around these, no other thread could set it."""

    def test_are_restored_after_an_error_of_the_source(self):
        def broken():
            yield normal(4, 3, seed=1)
            raise OSError("the disk")

        before = blas_threads()
        with pytest.raises(OSError, match="the disk"):
            streaming.stream(source(normal(4, 3, seed=1)), StreamedVectors(broken, (8, 3), "broken"), Maximum)
        assert blas_threads() == before

    @pytest.mark.parametrize("leaves_first", [0, 1], ids=["the first to enter", "the second to enter"])
    def test_are_restored_only_by_the_last_of_those_that_stream_at_the_same_time(self, leaves_first):
        """The first to leave must not give the other more, nor the last leave the process with one."""
        inside = [Event(), Event()]
        one_has_left = Event()
        seen = []

        class Meeting(Maximum):
            def __init__(self, rows, number):
                super().__init__(rows)
                self.number = number

            def add(self, rows, products, first):
                inside[self.number].set()
                assert inside[1].wait(30)
                if self.number != leaves_first:
                    assert one_has_left.wait(30)
                    seen.append(blas_threads())

        def run(number):
            if number == 1:
                assert inside[0].wait(30)
            rows = source(normal(1, 3, seed=1))
            streaming.stream(rows, rows, partial(Meeting, number=number))
            if number == leaves_first:
                one_has_left.set()

        before = blas_threads()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(run, (0, 1)))
        assert seen == [{1}]
        assert blas_threads() == before


MEASURED = """
import sys, threading, time
import numpy as np
from hubless.kernels import reductions
from hubless.vectors.sources import ArrayVectors

def private():
    for line in open("/proc/self/status"):
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024

bank, targets = (ArrayVectors(np.load(path, mmap_mode="r"), path) for path in sys.argv[1:3])
small = ArrayVectors(np.ones((4, bank.shape[1]), np.float32), "small")
reductions.log_sum_exp(small, None, small, 0.05)  # what the first call loads is no part of it
before, peak, done = private(), 0.0, threading.Event()

def watch():
    global peak
    while not done.is_set():
        peak = max(peak, private())
        time.sleep(0.002)

watcher = threading.Thread(target=watch)
watcher.start()
if sys.argv[3] == "lse":
    reductions.log_sum_exp(bank, np.zeros(bank.shape[0]), targets, 0.05)
else:
    reductions.top_k_mean_each([bank], targets, [128])
done.set()
watcher.join()
print(peak - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="private memory is read from /proc")
@pytest.mark.parametrize(("b", "n", "reduction"), [(100_000, 2_500, "lse"), (2_500, 100_000, "top k")])
def test_memory_above_mapped_inputs_is_bounded_by_the_blocks(b, n, reduction, tmp_path):
    """The matrix of similarities would take 1 GB, the larger input 13 MB; the blocks take some tens of MB."""
    paths = []
    for name, rows in (("bank", b), ("targets", n)):
        paths.append(tmp_path / f"{name}.npy")
        np.save(paths[-1], normal(rows, 32, seed=rows))
    assert float(python("-c", textwrap.dedent(MEASURED), *paths, reduction)) < 200
