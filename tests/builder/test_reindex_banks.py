import numpy as np
import pytest
from support import jobs, small
from support.hubs import unit
from support.jobs import NAME, names, run, vector, write_targets

import hubless
from hubless.builder.banks.thinning import thin
from hubless.errors import InputError
from hubless.store import query_sample
from hubless.store.query_sample import SampleWriter, read_sample
from hubless.vectors.sources import ArrayVectors

NOON = 1_800_000_000
SN = {"name": "sn"}
TARGETS = np.array([unit(vector(each)) for each in names(0, 60)])


@pytest.fixture
def folder(tmp_path):
    """A job over a query sample: each of 50 queries was asked in three ways, the last 20 by one client."""
    asked = np.repeat(small.query_bank()[:50], 3, axis=0)
    asked = (asked + 1e-4 * np.random.default_rng(5).normal(size=asked.shape)).astype(np.float32)
    (tmp_path / "job" / "sample").mkdir(parents=True)
    (tmp_path / "job" / "sample" / query_sample._SALT).write_bytes(bytes(32))  # the order of rows hangs on it
    made = SampleWriter(tmp_path / "job" / "sample")
    for n, each in enumerate(asked):
        made.record(NAME, "cosine", each, f"client-{min(n // 3, 30)}", NOON)
    made.flush()
    jobs.write(tmp_path / "job", correction=SN, query_bank=f"sample/{NAME}")
    return tmp_path / "job"


def thinned(folder, **more):
    sample = read_sample(folder / "sample" / NAME)
    compared = sample.vectors / np.linalg.norm(sample.vectors, axis=1, keepdims=True)
    left = thin(compared, ArrayVectors(TARGETS, "targets"), sample.clients, **more)
    return sample.vectors[left.rows], left


def offsets(folder, catalog="catalog"):
    return hubless.open(folder / catalog, NAME).offsets


def built_from(folder, rows, **more):
    np.save(folder / "plain.npy", rows)
    hubless.build(folder / "other", NAME, folder / "items", folder / "plain.npy", correction="sn", index="flat", **more)
    return offsets(folder, "other")


def test_query_sample_is_thinned_as_the_command_does_and_the_manifest_says_so(folder):
    done = run(folder)
    rows, left = thinned(folder)
    assert len(left.near_duplicates) >= 80
    assert len(left.capped)
    np.testing.assert_allclose(offsets(folder), built_from(folder, rows), atol=1e-6)
    (told,) = [each for each in done.manifest.job.why if "query_bank.0" in each]
    assert told.startswith(f"{len(rows)} of {len(left.like)} queries of query_bank.0 are left: without ")


def test_prior_of_a_column_holds_for_new_and_changed_targets(folder):
    clicks = {each: 1 + n for n, each in enumerate(names(0, 60))}
    for file, some in (("a", names(0, 40)), ("b", names(40, 60))):
        write_targets(folder / "items" / f"{file}.parquet", some, clicks=[clicks[each] for each in some])
    jobs.rewrite(folder, correction=SN, query_bank=f"sample/{NAME}", target_prior="clicks")
    run(folder)
    rows, _ = thinned(folder)
    theirs = built_from(folder, rows, target_prior="clicks")
    np.testing.assert_allclose(offsets(folder), theirs, atol=1e-6)
    clicks["item-0"] = 500
    write_targets(folder / "items" / "a.parquet", names(0, 40), clicks=[clicks[each] for each in names(0, 40)])
    write_targets(folder / "items" / "c.parquet", names(60, 62), clicks=[None, 1000])
    done = run(folder)
    assert (done.manifest.job.offsets, done.manifest.target_prior.column) == ("kept", "clicks")
    opened = hubless.open(folder / "catalog", NAME)
    asked = ["item-0", "item-60", "item-61"]
    vectors = np.array([unit(vector(each)) for each in asked])
    expected = opened.correction().offsets(ArrayVectors(vectors, "v"), prior=np.array([500, np.nan, 1000]))
    np.testing.assert_allclose([opened.point(each).offset for each in asked], expected, atol=1e-6)
    without = opened.correction().offsets(ArrayVectors(vectors, "v"))
    assert without[2] - expected[2] > 1e-3
    jobs.rewrite(folder, correction=SN, query_bank=f"sample/{NAME}")
    done = run(folder)
    assert any("target_prior is none" in each for each in done.plan.refit)
    assert done.manifest.target_prior is None


@pytest.mark.parametrize(
    ("prior", "correction", "message"),
    [
        ("clicks", SN, "target_prior: expected a payload column: title, got"),
        ("title", SN, r"target_prior \(payload column title\): expected numbers"),
        ("title", {"name": "csls", "parameters": {"k": 3}}, "expected none with this correction"),
        ({"column": "title"}, SN, "job.yaml: target_prior: expected a valid string"),
    ],
)
def test_prior_that_cannot_be_is_refused_by_name(folder, prior, correction, message):
    jobs.rewrite(folder, correction=correction, query_bank=f"sample/{NAME}", target_prior=prior)
    with pytest.raises(InputError, match=message):
        run(folder)


def test_collection_that_was_built_with_a_prior_asks_for_one(folder):
    counts = {"clicks": np.arange(1, 61)}
    given = (folder / "catalog", NAME, folder / "items", small.query_bank())
    hubless.build(*given, correction="sn", payload=counts, target_prior="clicks")
    with pytest.raises(InputError, match="target_prior: expected a column, as the collection was built"):
        run(folder)
