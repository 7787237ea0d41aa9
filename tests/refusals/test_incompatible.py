"""Every row of the table of what cannot be given together, at each door that takes both."""

import numpy as np
import pytest
from support import jobs
from support.problems import with_hubs

import hubless
from hubless.builder.incompatible import INCOMPATIBLE
from hubless.builder.keywords import BuildSettings, InputSettings
from hubless.errors import InputError
from hubless.jobs.job_file import IndexChoice, ReindexJob, read_job

PROBLEM = with_hubs()
NUMBERS = np.ones(80)
GIVEN = {
    "target_prior": NUMBERS,
    "fit_by": "shop",
    "strength": 0.5,
    "live_queries": PROBLEM.queries,
    "clicks": [[0]] * 150,
    "target_bank": PROBLEM.target_bank,
    "publish": "qdrant://h/c",
    "memory": "1GB",
    "latency": "2ms",
    "shard_targets": 2000,
    "keep_full": True,
    "dims": 4,
    "relevant": [0] * 150,
    "offsets": NUMBERS,
}
OTHERS = {
    "offsets": {"correction": "offsets", "offsets": NUMBERS},
    "a correction that takes no prior": {"correction": "csls"},
    "a correction that does not fold": {"correction": "none"},
    "another engine than faiss": {"engine": "milvus"},
    "metric euclidean": {"metric": "euclidean"},
    "all dimensions": {},
    "no query bank": {"correction": "none", "query_bank": None},
    "live queries or texts": {"query_bank": "payload:title"},
}
"""What the words of the table stand for."""
OF_BUILD = {*BuildSettings.__annotations__, "strength", "metric", "correction", "query_bank"}
OF_JOB = {*ReindexJob.model_fields, *IndexChoice.model_fields} - {"query_bank"}


def build(folder, **given):
    return hubless.build(folder, "c", **{"targets": PROBLEM.targets, "query_bank": PROBLEM.bank, **given})


def fit(folder, **given):
    inputs = {name: given.pop(name) for name in {*InputSettings.__annotations__, "query_bank"} & given.keys()}
    index = hubless.Index(**{"metric": "cosine", **given})
    return index.fit(**{"targets": PROBLEM.targets, "query_bank": PROBLEM.bank, **inputs})


def job(folder, **given):
    index = {name: given.pop(name) for name in IndexChoice.model_fields.keys() & given.keys()}
    plain = {name: each if isinstance(each, str | int) else "some" for name, each in given.items()}
    named = {"correction": {"name": given.get("correction", "auto")}, "index": index}
    return read_job(jobs.rewrite(folder, **{**plain, **named}))


OF_FIT = OF_BUILD - {"strength", "engine", "shard_targets", "executor"}
CASES = [
    pytest.param(row, name, given, door, id=f"{name} beside {row.beside} {door.__name__}")
    for row in INCOMPATIBLE
    for name in row.given
    for given in [{name.replace(" ", "_"): GIVEN[name.replace(" ", "_")], **OTHERS.get(row.beside, {})}]
    for given in [given if row.beside in OTHERS else {row.beside: GIVEN[row.beside], **given}]
    for door, known in ((build, OF_BUILD), (fit, OF_FIT), (job, OF_JOB))
    if given.keys() <= known
]


@pytest.mark.parametrize(("row", "name", "given", "door"), CASES)
def test_what_the_table_says_is_refused_at_each_door(tmp_path, row, name, given, door):
    with pytest.raises(InputError) as refused:
        door(tmp_path, **given)
    assert f"{name}: expected {row.expected.partition('{')[0]}" in str(refused.value)


def test_each_row_has_a_door():
    assert {param.values[0] for param in CASES} == set(INCOMPATIBLE)
