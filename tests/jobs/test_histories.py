"""Random histories of a job: the collection holds what its files and its clients said last, with the right offsets."""

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support import jobs, naive, small
from support.history import number, payload_of
from support.hubs import unit
from support.jobs import NAME, names, run, vector

import hubless
from hubless.search.writes import Put, Remove
from hubless.vectors.arrays import unit_rows

BANK = small.query_bank()
TENANTS = np.array([*"ab"] * (len(BANK) // 2))
KINDS = [{}, {"fit_by": "tenant"}, {"correction": {"name": "offsets:number"}}]
IDS = names(0, 40)
MAY_GO = {"rows": {"max_gone": 1}, "columns": {"max_emptied": 1}}
STEPS = 12


class World:
    """Files of a job, what clients did since, and what the collection is to hold: id → seed and title."""

    def __init__(self, folder, seed):
        self.rng, self.folder, self.settings = random.Random(seed), folder, KINDS[seed % len(KINDS)]  # noqa: S311
        self.files, self.known, self.held = {}, {}, {}
        folder.mkdir()
        columns = {"vector": BANK.tolist(), "tenant": TENANTS}
        pa.parquet.write_table(pa.table(columns), folder / "bank.parquet")
        self.change()
        self.run()

    def said(self):
        return {each: said for file in self.files.values() for each, said in file.items()}

    def change(self):
        """Let a file bring targets, lose some, or say something else of them."""
        name = self.rng.choice("ab")
        other = {each for key, file in self.files.items() if key != name for each in file}
        file = self.files.get(name, {})
        for each in self.rng.sample(sorted({*IDS} - other), 12):
            seed, title = file.get(each, (0, "none"))
            what = self.rng.choice(["vector", "title", "gone"])
            if what == "gone":
                file.pop(each, None)
            else:
                file[each] = (self.rng.randrange(9), title) if what == "vector" else (seed, f"t{self.rng.randrange(9)}")
        self.files[name] = file or {min({*IDS} - other): (0, "none")}
        columns = {key: [payload_of(title)[key] for _, title in self.files[name].values()] for key in payload_of("")}
        vectors = [vector(each, seed).tolist() for each, (seed, _) in self.files[name].items()]
        table = {"id": [*self.files[name]], "vector": pa.array(vectors, pa.list_(pa.float32())), **columns}
        (self.folder / "items").mkdir(exist_ok=True)
        pa.parquet.write_table(pa.table(table), self.folder / "items" / f"{name}.parquet")

    def write(self):
        """Let clients put targets, or remove some."""
        log, chosen = hubless.Catalog(self.folder / "catalog").log(NAME), self.rng.sample(IDS, 3)
        if self.rng.random() < 0.3:
            small.record(log, Remove(pa.array(chosen, pa.large_string())))
            self.held = {each: said for each, said in self.held.items() if each not in chosen}
            return
        seed, title = self.rng.randrange(10, 20), f"w{self.rng.randrange(9)}"
        schema = hubless.open(self.folder / "catalog", NAME).parts.payload_schema
        payload = pa.Table.from_pylist([payload_of(title)] * 3, schema)
        vectors = np.stack([unit(vector(each, seed)) for each in chosen])
        small.record(log, Put(vectors, pa.array(chosen, pa.large_string()), payload))
        self.held |= dict.fromkeys(chosen, (seed, title))

    def merge(self):
        hubless.merge(self.folder / "catalog", NAME, keep=self.rng.choice([None, 1]))

    def run(self):
        """What a file says anew goes before what clients said; what it says as before does not."""
        said = self.said()
        self.held |= {each: what for each, what in said.items() if self.known.get(each) != what}
        self.held = {each: what for each, what in self.held.items() if each in said or each not in self.known}
        self.known = said
        index = {"type": self.rng.choice(["flat", "hnsw"]), "grown": self.rng.choice([0, 1])}
        asked = {"query_bank": "bank.parquet", "gates": MAY_GO, "index": index, **self.settings}
        jobs.rewrite(self.folder, refit={"frozen": self.rng.choice([0.1, 1])}, **asked)
        run(self.folder, full=self.rng.random() < 0.2)

    def check(self):
        opened = hubless.open(self.folder / "catalog", NAME)
        rows = np.arange(opened.count)
        ids = opened.ids(rows)
        assert dict(zip(ids, opened.payload(rows), strict=True)) == {
            each: payload_of(title) for each, (_, title) in self.held.items()
        }
        vectors = np.stack([unit(vector(each, self.held[each][0])) for each in ids])
        np.testing.assert_allclose(opened.vectors(rows), vectors, atol=1e-6)
        titles = [self.held[each][1] for each in ids]
        if "correction" in self.settings:
            off = opened.offsets - [number(each) for each in titles]
            np.testing.assert_allclose(off, off[0], atol=1e-6)
            return
        tenants = np.array([payload_of(each)["tenant"] for each in titles])
        fitted: Any = opened.correction().fitted
        for name in fitted.fits if "fit_by" in self.settings else [None]:
            whose = tenants == name if name else rows >= 0
            bank = unit_rows(BANK[name == TENANTS] if name else BANK, "bank")
            off = opened.offsets[whose] - naive.top_k_mean(bank, vectors[whose], 3) / 2
            np.testing.assert_allclose(off, off[:1].repeat(len(off)), atol=1e-5)


@pytest.mark.parametrize("seed", range(9))
def test_collection_holds_what_files_and_clients_said_last(tmp_path, seed):
    world = World(tmp_path / "job", seed)
    for _ in range(STEPS):
        world.rng.choice([world.change, world.write, world.merge, world.run])()
    world.run()
    world.check()
