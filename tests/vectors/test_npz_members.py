"""`file.npz:name` names one of the arrays of a file."""

import json

import numpy as np
import pytest
from support import small

import hubless

NAMES = [f"img-{row}" for row in range(small.COUNT)]


@pytest.fixture
def npz(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, images=small.targets(), texts=small.query_bank(), names=NAMES)
    return path


def test_named_arrays_are_vectors_bank_and_ids(npz):
    index = hubless.Index(metric="cosine", correction="csls").fit(f"{npz}:texts", f"{npz}:images", ids=f"{npz}:names")
    assert index.query(small.targets()[:2], limit=1, strength=0)[1][0].id == "img-1"
    assert index.manifest.provenance.inputs["targets"].name == "t.npz"


def test_job_follows_the_file_of_a_named_array(npz):
    settings = {"version": 1, "collection": "photos", "query_bank": "t.npz:texts", "correction": {"name": "none"}}
    targets = {"path": "t.npz:images", "ids": "t.npz:names"}
    job = npz.parent / "job.yaml"
    job.write_text(json.dumps({**settings, "targets": targets}))
    assert hubless.reindex(job, catalog=npz.parent / "catalog").manifest.count == small.COUNT
    assert hubless.reindex(job, catalog=npz.parent / "catalog").manifest is None
    np.savez(npz, images=small.targets(1), texts=small.query_bank(), names=NAMES)
    assert hubless.reindex(job, catalog=npz.parent / "catalog").manifest.job.changed == small.COUNT
