import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import small


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    np.save(folder / "targets.npy", small.targets())
    np.save(folder / "bank.npy", small.query_bank())
    np.save(folder / "queries.npy", small.vectors(5, 11).astype(np.float64))
    np.savez(folder / "more.npz", vectors=small.vectors(30, 12).astype(np.float16))
    vectors = pa.array(small.targets().tolist(), pa.list_(pa.float32()))
    pq.write_table(pa.table({"id": small.IDS, "vector": vectors, "rank": range(small.COUNT)}), folder / "all.parquet")
    (folder / "ids.txt").write_text("\n".join(f"id-{row}" for row in range(small.COUNT)), "utf-8")
    np.save(folder / "ids.npy", np.arange(small.COUNT) * 10 - 100)
    (folder / "payload.jsonl").write_text("\n".join(json.dumps(row) for row in small.payload()), "utf-8")
    (folder / "encoder").mkdir()
    small.encoder().save(folder / "encoder")
    return folder


@pytest.fixture
def build(run, files, tmp_path):
    def run_build(*words, catalog=tmp_path / "catalog", targets="targets.npy", name="photos"):
        given = ("--targets", files / targets, "--query-bank", files / "bank.npy")
        return run("build", "--catalog", catalog, "--collection", name, *given, *words)

    return run_build


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """A catalog with a collection of two versions that has all there can be. Do not change it."""
    catalog = tmp_path_factory.mktemp("template") / "catalog"
    for data in (0, 0):
        small.build_full(catalog, correction="sn", data=data)
    return catalog
