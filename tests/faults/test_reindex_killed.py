"""`hubless reindex` that dies, and is run again. tests/faults/test_every_call.py kills it at each call."""

import shutil

from support import jobs
from support.jobs import NAME

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
