import pytest
from support import small, writing
from support.writing import NAME, point

import hubless
from hubless.builder import lifecycle
from hubless.errors import PreconditionFailed
from hubless.store import bundle, catalog as catalogs
from hubless.store.log import Log


@pytest.fixture
def catalog(tmp_path):
    writing.build(tmp_path)
    return tmp_path


def write(client, *seeds):
    for seed in seeds:
        assert client.put("/points", json={"points": [point(f"new-{seed}", seed, title="new")]}).status_code == 200


def answers(catalog, **options):
    found = hubless.open(catalog, NAME, **options)
    return found.query(small.query_bank(), 10)


JOBS = {
    "merge": lambda home: hubless.merge(home, NAME),
    "flush": lambda home: lifecycle.flush(hubless.Catalog(home), hubless.open(home, NAME).parts),
    "compact": lambda home: lifecycle.compact(home, NAME),
    "refit": lambda home: hubless.refit(home, NAME, small.query_bank()),
    "calibrate": lambda home: lifecycle.calibrate(home, NAME, small.query_bank()[:30], small.IDS[:30]),
    "save": lambda home: hubless.open(home, NAME).save(home, NAME),
}


@pytest.mark.parametrize("job", JOBS)
def test_version_that_is_activated_while_a_job_runs_stays_current(catalog, monkeypatch, job):
    home, first = hubless.Catalog(catalog), hubless.open(catalog, NAME).version
    with writing.writable(catalog) as client:
        write(client, 1)
        second = hubless.merge(catalog, NAME).version
        write(client, 2)
    monkeypatch.setattr(lifecycle, "needs_training", lambda parts: True)

    def activated_meanwhile(*given):
        home.rollback(NAME, first)
        return bundle.seal(*given)

    became = f"^version {first} of 'photos' became current while the job ran"
    with monkeypatch.context() as during:
        during.setattr(catalogs, "seal", activated_meanwhile)
        with pytest.raises(PreconditionFailed, match=became):
            JOBS[job](catalog)
    assert (home.current(NAME), home.version_ids(NAME)) == (first, [first, second])
    # from the version that was activated, which the log brings up to now, but for a compaction
    assert JOBS[job](catalog).log_seq == (0 if job == "compact" else 2)


def test_log_keeps_what_a_stored_version_lacks(catalog):
    with writing.writable(catalog) as client:
        write(client, 1, 2)
    hubless.merge(catalog, NAME)
    log = Log(catalog / NAME)
    assert log.first() == 1
    hubless.merge(catalog, NAME, keep=1)
    assert (log.first(), log.last()) == (3, 2)
    log.close()
    assert hubless.open(catalog, NAME).count == small.COUNT + 2


def test_targets_added_in_memory_come_on_top_of_the_log(catalog):
    with writing.writable(catalog) as client:
        write(client, 1)
    index = hubless.open(catalog, NAME)
    index.add(small.vectors(1, 9), ids=["more"])
    index.remove(["new-1"])
    made = index.save(catalog, NAME)
    assert (made.log_seq, made.count) == (1, small.COUNT + 1)
    assert hubless.open(catalog, NAME).find(["more", "new-1"])[1] is None
