"""A process that is forked while threads of its parent work: gunicorn --preload, workers of a data loader."""

import json
import re
from pathlib import Path

import pytest
from support import catalogs
from support.embeddings import embeddings
from support.forking import forks

import hubless


@pytest.mark.parametrize("kind", ["flat", "hnsw", "fastscan"])
def test_child_answers_while_threads_of_its_parent_query_and_add(kind):
    forks(
        """
        index = hubless.Index(metric="cosine", correction="csls", index=sys.argv[1])
        index.fit(QUERIES, TARGETS, payload=[{"kind": row % 7} for row in range(len(TARGETS))])
        before = index.query(QUERIES, limit=1)  # the team of OpenMP of this thread stays behind

        def ask():
            while True:
                index.query(QUERIES[:40], limit=5, filter={"kind": int(numbers.integers(7))})

        def add():
            while True:
                index.add(numbers.standard_normal((5, 16)).astype("f4"), payload=[{"kind": 7}] * 5)

        for work in (ask, ask, add):
            threading.Thread(target=work, daemon=True).start()

        def child():
            found = index.query(QUERIES, limit=1, filter={"kind": list(range(7))})
            assert (found.rows == before.rows).mean() > 0.9
            count = index.count
            index.add(QUERIES[:3], payload=[{"kind": 8}] * 3)
            assert index.count == count + 3
            assert index.query(QUERIES[1], limit=1, filter={"kind": 8})[0][0].similarity > 0.99

        for _ in range(5):
            right(in_child(child))
        """,
        kind,
    )


def test_child_adds_while_a_thread_of_its_parent_is_in_the_middle_of_it():
    forks("""
        index = hubless.Index(metric="cosine").fit(QUERIES, TARGETS)
        inside, go_on = threading.Event(), threading.Event()

        class Slow:
            def __array__(self, *_, **__):
                inside.set()
                go_on.wait()
                return QUERIES[:2]

        thread = threading.Thread(target=index.add, args=(Slow(),))
        thread.start()
        inside.wait()

        def child():
            index.add(QUERIES[:3])
            assert index.count == len(TARGETS) + 3

        right(in_child(child))
        go_on.set()
        thread.join()
        assert index.count == len(TARGETS) + 2
    """)


def test_child_reads_what_a_thread_of_its_parent_is_about_to_compute():
    forks("""
        from hubless.kernels.forks import cached_property

        inside, go_on = threading.Event(), threading.Event()

        class Slow:
            def __init__(self, waits):
                self.waits = waits

            @cached_property
            def found(self):
                if self.waits:
                    inside.set()
                    go_on.wait()
                return 7

        slow = Slow(True)
        thread = threading.Thread(target=lambda: slow.found)
        thread.start()
        inside.wait()
        right(in_child(lambda: Slow(False).found))
        go_on.set()
        thread.join()
        assert slow.found == 7
    """)


def test_child_has_the_threads_of_blas_that_its_parent_held_back():
    forks("""
        from hubless.kernels import threads
        from threadpoolctl import threadpool_info

        def of_blas():
            return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

        usual = of_blas()
        inside, go_on = threading.Event(), threading.Event()
        hold = lambda part: (inside.set(), go_on.wait())
        thread = threading.Thread(target=threads.in_parallel, args=(hold, 1, 1))
        thread.start()
        inside.wait()

        def child():
            assert of_blas() == usual
            threads.in_parallel(lambda part: None, 4, 1)
            assert of_blas() == usual

        right(in_child(child))
        go_on.set()
        thread.join()
        assert of_blas() == usual
    """)


def test_lease_ends_with_the_block_though_a_child_lives_on():
    forks("""
        import tempfile
        from pathlib import Path
        from hubless.store.locks import lease

        home = Path(tempfile.mkdtemp())
        end, ending = os.pipe()
        with lease(home, "first"):
            children = [in_child(lambda: os.read(end, 1))]

        def unwinds():
            with lease(home, "child's"):
                pass

        right(in_child(unwinds))
        with lease(home, "second"):
            if not (child := os.fork()):
                sys.exit()  # leaves the block, and must not end the lease of its parent
            os.waitpid(child, 0)

            def refused():
                try:
                    unwinds()
                except hubless.errors.JobRunning:
                    return
                raise AssertionError

            right(in_child(refused))
        os.write(ending, b"x")
        right(children[0])
        (home / ".lease").unlink()
        home.rmdir()
    """)


def test_child_reads_and_writes_a_log_that_its_parent_has_open(tmp_path):
    forks(
        """
        from pathlib import Path
        from hubless.store.log import Log

        log = Log(Path(sys.argv[1]))

        def write(count):
            for _ in range(count):
                with log.writing() as appender:
                    appender.add("put", b"x")
                    appender.commit()

        write(2)
        log._using.acquire()  # as by a thread that is gone in the child
        children = [in_child(lambda: (write(5), log.since(0))) for _ in range(3)]
        log._using.release()
        write(5)
        for child in children:
            right(child)
        assert [entry.seq for entry in log.since(0)] == list(range(1, 2 + 4 * 5 + 1))
        """,
        str(tmp_path),
    )


def test_child_asks_an_encoder_on_connections_of_its_own():
    with embeddings() as server:
        forks(
            """
            import json
            from hubless.encoders.endpoint import Endpoint

            encoder = Endpoint.load(".", json.loads(sys.argv[1]))
            first = encoder.encode(["amber"])
            encoder._lock.acquire()
            for _ in range(3):
                right(in_child(lambda: (encoder.encode(["amber", "amber lake"]), encoder.encode(["amber"]))))
            encoder._lock.release()
            assert (encoder.encode(["amber"]) == first).all()
            """,
            json.dumps(server.describe(dim=catalogs.encoder().dim)),
        )
    assert len(server.asked) == 1 + 3


def test_library_has_no_lock_that_a_fork_would_leave_held():
    """Locks are made in `renew`, or at once for the block in which they are used; cached properties are our own."""
    home = Path(hubless.__file__).parent
    texts = {path.relative_to(home).as_posix(): path.read_text("utf-8") for path in home.rglob("*.py")}
    found = {name for name, text in texts.items() if re.search(r"import .*\bcached_property", text)}
    ours = {name for name, text in texts.items() if "from hubless.kernels.forks import" in text}
    locks = {name for name, text in texts.items() if re.search(r"\b(Lock|RLock|Condition|Semaphore)\(\)", text)}
    assert found - ours == set()
    assert locks - ours == {"vectors/npy.py"}
