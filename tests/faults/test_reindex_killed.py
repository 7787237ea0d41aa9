"""`hubless reindex` that dies, and is run again. tests/faults/test_every_call.py kills it at each call."""

import shutil

import pytest
from support import jobs, writing
from support.jobs import NAME, names, write_targets
from support.writing import put_points

import hubless


def test_killed_job_goes_on_from_its_checkpoints(tmp_path, monkeypatch):
    from hubless.builder.pipeline import checkpoints

    folder = tmp_path / "job"
    jobs.write(folder, correction={"name": "sn"})
    monkeypatch.setattr(checkpoints, "KEPT_ROWS", 16)
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
    monkeypatch.setattr(checkpoints, "KEPT_ROWS", 16)
    jobs.run(folder)
    assert hubless.open(folder / "catalog", NAME).offsets.tobytes() == offsets.tobytes()


def test_writes_during_a_killed_job_wait_for_the_next_one(tmp_path, monkeypatch):
    from hubless.jobs import run as running

    folder = tmp_path / "job"
    jobs.write(folder, correction={"name": "auto"}, retention={"versions": 1})
    jobs.run(folder)
    with writing.writable(folder / "catalog") as client:
        put_points(client, writing.point("by-hand", 1))
    write_targets(folder / "items" / "a.parquet", names(5, 40), seed=1, title=["new"] * 35)

    class Killed(BaseException):
        pass

    def die(*_):
        raise Killed

    monkeypatch.setattr(running, "measure_gates", die)
    with pytest.raises(Killed):
        jobs.run(folder)
    with writing.writable(folder / "catalog") as client:
        put_points(client, writing.point("late", 9))
    monkeypatch.undo()
    # the job goes on with what it had begun with, so that its checkpoints are right
    assert jobs.run(folder).manifest.log_seq == 1
    assert "late" in jobs.stored(folder)
    assert jobs.run(folder).manifest.log_seq == 2
