"""Ids from a column that has another name than `id`."""

import json

import numpy as np
import pytest
from support import small
from support.files import write_parquet

import hubless

NAMES = [f"img-{row}" for row in range(small.COUNT)]
BANK = small.query_bank()


def fit(targets, **more):
    return hubless.Index(metric="cosine", correction="none").fit(BANK, targets, **more)


@pytest.fixture
def parquet(tmp_path):
    columns = {"image_id": NAMES, "id": [0] * small.COUNT, "title": NAMES}
    return write_parquet(tmp_path / "t.parquet", small.targets(), **columns)


def test_column_of_the_file_has_the_ids_and_its_column_id_is_payload(parquet):
    index = fit(parquet, ids="image_id")
    assert index.ids(np.array([0, 39])) == ["img-0", "img-39"]
    assert index.payload([39]) == [{"id": 0, "title": "img-39"}]


def test_column_of_the_payload_has_the_ids(tmp_path):
    payload = [{"image_id": name, "n": row} for row, name in enumerate(NAMES)]
    index = fit(small.targets(), ids="image_id", payload=payload)
    assert index.payload([index.row("img-7")]) == [{"n": 7}]
    (tmp_path / "p.csv").write_text("image_id\n" + "\n".join(NAMES))
    assert fit(small.targets(), ids="image_id", payload=tmp_path / "p.csv").ids(np.array([7])) == ["img-7"]


def test_job_takes_a_column_and_notices_another_one(tmp_path):
    for number in (2, 10):
        write_parquet(
            tmp_path / f"items/{number}.parquet",
            small.targets(number),
            image_id=[f"{number}-{name}" for name in NAMES],
            other=[f"{number}-other-{name}" for name in NAMES],
        )
    np.save(tmp_path / "bank.npy", BANK)

    def job(column):
        settings = {"version": 1, "collection": "photos", "query_bank": "bank.npy", "correction": {"name": "none"}}
        targets = {"path": "items/*", "ids": column}
        gates = {"rows": {"max_gone": 1}}
        (tmp_path / "job.yaml").write_text(json.dumps({**settings, "targets": targets, "gates": gates}))
        return hubless.reindex(tmp_path / "job.yaml", catalog=tmp_path / "catalog")

    assert job("image_id").manifest.count == 80
    assert hubless.open(tmp_path / "catalog", "photos").row("10-img-3") is not None
    assert job("image_id").manifest is None
    assert job("other").manifest.job.gone == 80
    assert hubless.open(tmp_path / "catalog", "photos").row("10-other-img-3") is not None
