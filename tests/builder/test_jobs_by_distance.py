"""A job under metric euclidean: fitted at first, and with the fit kept when files change."""

import numpy as np
from support import jobs, small
from support.by_distance import check_ranking, similarities
from support.jobs import NAME, names, vector, write_targets

import hubless


def test_job_ranks_by_distance_and_gives_new_targets_offsets_of_the_kept_fit(tmp_path):
    folder = tmp_path / "job"
    jobs.write(folder, metric="euclidean")
    jobs.run(folder)
    opened = hubless.open(folder / "catalog", NAME)
    assert opened.manifest.metric == "euclidean"
    check_answers(opened, {each: vector(each) for each in names(0, 60)})
    write_targets(folder / "items" / "c.parquet", names(60, 63), seed=1, title=["later"] * 3)
    done = jobs.run(folder)
    assert done.manifest.job.offsets == "kept"
    now = {each: vector(each) for each in names(0, 60)} | {each: vector(each, 1) for each in names(60, 63)}
    check_answers(hubless.open(folder / "catalog", NAME), now)


def check_answers(opened, expected):
    ids = opened.ids(np.arange(opened.count))
    assert set(ids) == set(expected)
    targets = np.stack([expected[each] for each in ids])
    np.testing.assert_array_equal(opened.vectors(np.arange(opened.count)), targets)
    bank = np.sort(similarities(small.query_bank(), targets), axis=0)[-3:].mean(axis=0) / 2
    np.testing.assert_allclose(np.ptp(opened.offsets - bank), 0, atol=1e-4)
    queries = np.random.default_rng(0).normal(size=(10, targets.shape[1])).astype(np.float32)
    check_ranking(opened.query(queries, 10).rows, similarities(queries, targets) - bank)
