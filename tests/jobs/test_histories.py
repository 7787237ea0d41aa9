"""Random histories of a job: the collection holds what its files and its clients said last, with the right offsets."""

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import jobs, naive, small
from support.history import number, payload_of
from support.hubs import unit
from support.jobs import NAME, names, run, vector

import hubless
from hubless.search.writes import Put, Remove
from hubless.vectors.arrays import unit_rows

BANK, TENANTS = small.query_bank(), np.array([*"ab"] * 30)
KINDS = [{}, {"fit_by": "tenant"}, {"correction": {"name": "offsets:number"}}]
IDS = {"a": names(0, 20), "b": names(20, 40)}
MAY_GO = {"rows": {"max_gone": 1}, "columns": {"max_emptied": 1}}
TEXT = pa.large_string()
STEPS = 12


@pytest.mark.parametrize("seed", range(9))
def test_collection_holds_what_files_and_clients_said_last(tmp_path, seed):
    rng, kind, catalog = random.Random(seed), KINDS[seed % 3], tmp_path / "catalog"  # noqa: S311
    files, known, held = {"a": {}, "b": {}}, {}, {}  # id → seed of the vector, and title
    pq.write_table(pa.table({"vector": list(BANK), "tenant": TENANTS}), tmp_path / "bank.parquet")

    def change():
        """A file brings targets, loses some, and says something else of others, or of all."""
        (name, ids), of_vectors = rng.choice([*IDS.items()]), rng.randrange(2)
        titles = {each: title for each, (_, title) in files[name].items() if rng.random() < 0.8}
        titles |= {each: f"t{rng.randrange(9)}" for each in rng.sample(ids, 5)}
        files[name] = {each: (of_vectors, title) for each, title in titles.items()}
        columns = {key: [payload_of(title)[key] for title in titles.values()] for key in payload_of("")}
        jobs.write_targets(tmp_path / "items" / f"{name}.parquet", [*titles], of_vectors, **columns)

    def write():
        """A client puts targets, or removes some."""
        chosen, title = rng.sample(names(0, 40), 3), f"w{rng.randrange(9)}"
        write = Remove(pa.array(chosen, TEXT))
        for each in chosen:
            held.pop(each, None)
        if rng.random() < 0.7:
            payload = pa.Table.from_pylist([payload_of(title)] * 3, hubless.open(catalog, NAME).parts.payload_schema)
            write = Put(np.stack([unit(vector(each, 9)) for each in chosen]), write.ids, payload)
            held.update(dict.fromkeys(chosen, (9, title)))
        small.record(hubless.Catalog(catalog).log(NAME), write)

    def go():
        """What a file says anew goes before what clients said; what it says as before does not."""
        said = files["a"] | files["b"]
        held.update({each: what for each, what in said.items() if known.get(each) != what})
        for each in known.keys() - said.keys():
            held.pop(each, None)
        known.clear()
        known.update(said)
        index = {"type": rng.choice(["flat", "hnsw"]), "grown": rng.choice([0, 1])}
        more = {"index": index, "refit": {"frozen": rng.choice([0.1, 1])}, **kind}
        jobs.rewrite(tmp_path, query_bank="bank.parquet", gates=MAY_GO, **more)
        run(tmp_path, full=rng.random() < 0.2)

    change()
    go()
    for _ in range(STEPS):
        rng.choice([change, write, go, lambda: hubless.merge(catalog, NAME, keep=rng.choice([None, 1]))])()
    go()
    opened = hubless.open(catalog, NAME)
    rows = np.arange(opened.count)
    ids = opened.ids(rows)
    titles = {each: title for each, (_, title) in held.items()}
    assert dict(zip(ids, opened.payload(rows), strict=True)) == {each: payload_of(titles[each]) for each in titles}
    vectors = np.stack([unit(vector(each, held[each][0])) for each in ids])
    np.testing.assert_allclose(opened.vectors(rows), vectors, atol=1e-6)
    fitted: Any = opened.correction().fitted
    for tenant in fitted.fits if "fit_by" in kind else [None]:
        whose = np.array([tenant in (None, payload_of(titles[each])["tenant"]) for each in ids])
        bank = unit_rows(BANK[(tenant is None) | (tenant == TENANTS)], "bank")
        expected = naive.top_k_mean(bank, vectors, 3) / 2
        if "correction" in kind:
            expected = np.array([number(titles[each]) for each in ids])
        constant = (opened.offsets - expected)[whose]
        np.testing.assert_allclose(constant, constant[:1].repeat(len(constant)), atol=1e-5)
