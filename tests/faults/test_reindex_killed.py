"""`hubless reindex` killed with -9 at any moment, and run again: it comes to the same bytes as a run in peace."""

import random
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
from support import jobs, processes, writing
from support.jobs import NAME, names, write_targets

import hubless
from hubless.store import bundle
from hubless.store.durable import is_locked
from hubless.store.log import Log

LONGEST, KILLS = 1.6, 60
"""Seconds from the first change that a run makes to the kill, at most."""


@pytest.fixture
def folder(tmp_path):
    """A job whose collection has writes in its log, and whose files have changed since."""
    folder = tmp_path / "job"
    jobs.write(folder, correction={"name": "auto"}, retention={"versions": 1})
    jobs.run(folder)
    with writing.writable(folder / "catalog") as client:
        client.put("/points", json={"points": [writing.point(f"by-hand-{number}", number) for number in range(5)]})
        client.post("/points/delete", json={"ids": ["item-7"]})
    write_targets(folder / "items" / "a.parquet", names(5, 40), seed=1)
    return folder


def command(folder, *more):
    return [sys.executable, "-m", "hubless", "reindex", folder / "job.yaml", "--catalog", folder / "catalog", *more]


def killed(folder, seconds, *more):
    """Run the job, and kill it so long after it began to change files. Whether it was killed."""
    process = subprocess.Popen(
        command(folder, *more), env=processes.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    begun, lease = threading.Event(), folder / "catalog" / NAME / ".lease"
    while process.poll() is None and not (lease.exists() and is_locked(lease)):
        begun.wait(0.005)
    begun.wait(seconds)
    process.kill()
    return process.wait() != 0


def finished(folder, *more):
    """Run the job to its end."""
    subprocess.run(command(folder, *more), env=processes.environment(), check=True, capture_output=True)


def outcome(folder):
    """What a run comes to: the bytes of the offsets and the ids, and what the collection holds."""
    current = hubless.Catalog(folder / "catalog").folder(NAME)
    ids = hubless.open(folder / "catalog", NAME)
    ids.check_canaries()
    return (current / bundle.OFFSETS).read_bytes(), ids.ids(np.arange(ids.count))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("full", [False, True], ids=["kept fit", "new fit"])
def test_job_that_is_killed_at_any_moment_comes_to_the_same_offsets(folder, full):
    rng = random.Random(KILLS)  # noqa: S311
    options = ["--set", "full=true"] if full else []
    shutil.copytree(folder, peace := folder.with_name("peace"))
    finished(peace, *options)
    expected = outcome(peace)
    shutil.copytree(folder, start := folder.with_name("start"))
    done = 0
    for _ in range(KILLS):
        before = hubless.Catalog(folder / "catalog").current(NAME)
        if not killed(folder, rng.uniform(0, LONGEST), *options) or (
            hubless.Catalog(folder / "catalog").current(NAME) != before
        ):
            # it was done, or just before its end: look, and begin again
            assert outcome(folder) == expected
            shutil.rmtree(folder)
            shutil.copytree(start, folder)
            done += 1
            continue
        assert hubless.open(folder / "catalog", NAME).count == 64
    finished(folder, *options)
    assert outcome(folder) == expected
    home = folder / "catalog" / NAME
    assert not (home / ".reindex").exists()
    assert [each.name for each in (home / "versions").iterdir()] == [hubless.Catalog(folder / "catalog").current(NAME)]
    log = Log(home)
    assert (log.first(), log.last()) == (3, 2)
    log.close()
    assert jobs.run(folder).manifest is None


def test_killed_job_goes_on_from_its_checkpoints(tmp_path, monkeypatch):
    from hubless.builder.pipeline import checkpoints

    folder = tmp_path / "job"
    jobs.write(folder, correction={"name": "sn"})
    monkeypatch.setattr(checkpoints, "SHARD_ROWS", 16)
    kept, worked = checkpoints.Checkpoints.arrays, []

    class Killed(BaseException):
        pass

    def dying(after):
        def arrays(self, name, work):
            def counted():
                if len(worked) >= after:
                    raise Killed
                done = work()
                worked.append(name)
                return done

            return kept(self, name, counted)

        return arrays

    for after in range(1, 20):
        monkeypatch.setattr(checkpoints.Checkpoints, "arrays", dying(after))
        try:
            jobs.run(folder)
            break
        except Killed:
            continue
    # each of these worked once, though the job was stopped before each of them
    assert len(worked) == len(set(worked))
    assert {"fits", "survey-3"} <= set(worked)
    offsets = hubless.open(folder / "catalog", NAME).offsets
    monkeypatch.undo()
    shutil.rmtree(folder / "catalog")
    monkeypatch.setattr(checkpoints, "SHARD_ROWS", 16)
    jobs.run(folder)
    assert hubless.open(folder / "catalog", NAME).offsets.tobytes() == offsets.tobytes()


def test_writes_during_a_killed_job_wait_for_the_next_one(folder, monkeypatch):
    from hubless.builder.reindex import run as running

    class Killed(BaseException):
        pass

    def die(*_):
        raise Killed

    monkeypatch.setattr(running, "measure_gates", die)
    with pytest.raises(Killed):
        jobs.run(folder)
    with writing.writable(folder / "catalog") as client:
        client.put("/points", json={"points": [writing.point("late", 9)]})
    monkeypatch.undo()
    # the job goes on with what it had begun with, so that its checkpoints are right
    assert jobs.run(folder).manifest.log_seq == 2
    assert "late" in jobs.stored(folder)
    assert jobs.run(folder).manifest.log_seq == 3
