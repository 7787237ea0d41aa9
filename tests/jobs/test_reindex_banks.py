import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import jobs, small
from support.hubs import unit
from support.jobs import NAME, names, run, vector, write_targets
from support.printed import write_sample

import hubless
from hubless.builder.banks.thinning import thin
from hubless.corrections.grouped import with_groups
from hubless.errors import InputError
from hubless.store.query_sample import read_sample
from hubless.vectors.arrays import unit_rows
from hubless.vectors.sources import ArrayVectors

NOON = 1_800_000_000
SN = {"name": "sn"}
TARGETS = np.array([unit(vector(each)) for each in names(0, 60)])


@pytest.fixture
def folder(tmp_path):
    """A job over a query sample: each of 50 queries was asked in three ways, the last 20 by one client."""
    asked = np.repeat(small.query_bank()[:50], 3, axis=0)
    asked = (asked + 1e-4 * np.random.default_rng(5).normal(size=asked.shape)).astype(np.float32)
    clients = [f"client-{min(n // 3, 30)}" for n in range(len(asked))]
    write_sample(tmp_path / "job" / "sample", asked, clients, NAME, NOON)
    jobs.write(tmp_path / "job", correction=SN, query_bank=f"sample/{NAME}")
    return tmp_path / "job"


def thinned(folder, **more):
    sample = read_sample(folder / "sample" / NAME)
    left = thin(unit_rows(sample.vectors, "sample"), ArrayVectors(TARGETS, "targets"), sample.clients, **more)
    return sample.vectors[left.rows], left


def offsets(folder, catalog="catalog"):
    return hubless.open(folder / catalog, NAME).offsets


def built_from(folder, rows, left, **more):
    clients = read_sample(folder / "sample" / NAME).clients
    hubless.build(folder / "other", NAME, folder / "items", rows, correction="sn", index="flat", **more)
    hubless.refit(folder / "other", NAME, rows, clients=[clients[row] for row in left.rows])
    return offsets(folder, "other")


def test_query_sample_is_thinned_as_the_command_does_and_the_manifest_says_so(folder):
    done = run(folder)
    rows, left = thinned(folder)
    assert len(left.near_duplicates) >= 80
    assert len(left.capped)
    np.testing.assert_allclose(offsets(folder), built_from(folder, rows, left), atol=1e-6)
    (told,) = [each for each in done.manifest.job.why if "query_bank.0" in each]
    assert told.startswith(f"{len(rows)} of {len(left.like)} queries of query_bank.0 are left: without ")


class TestGroups:
    """Each shop is corrected by its own queries; the bank is two files, one of each shop."""

    SHOPS = ["north"] * 40 + ["south"] * 20

    @pytest.fixture
    def shops(self, folder):
        self.write_items(folder, self.SHOPS)
        bank = small.query_bank()
        for name, rows in (("north", bank[:40]), ("south", bank[40:])):
            pq.write_table(with_groups(rows, "shop", [name] * len(rows)), folder / f"{name}.parquet")
        self.job(folder)
        return folder

    def write_items(self, folder, shops):
        write_targets(folder / "items" / "a.parquet", names(0, 40), shop=shops[:40])
        write_targets(folder / "items" / "b.parquet", names(40, len(shops)), shop=shops[40:])

    def job(self, folder, **more):
        given = {"query_bank": ["north.parquet", "south.parquet"], "fit_by": "shop", **more}
        jobs.rewrite(folder, correction=SN, **given)

    def test_files_and_samples_without_the_column_are_refused_by_name(self, shops):
        np.save(shops / "plain.npy", small.query_bank())
        self.job(shops, query_bank=["north.parquet", "plain.npy"])
        with pytest.raises(
            InputError, match=r"payload of query_bank.1 \(plain.npy\): expected a column shop, .* no columns"
        ):
            run(shops)
        self.job(shops, query_bank=f"sample/{NAME}")
        with pytest.raises(
            InputError, match=r"query_bank.0: expected a file with the column shop, .* got live queries"
        ):
            run(shops)
        assert not (shops / "catalog" / NAME / "CURRENT").exists()

    def test_collection_that_was_built_by_groups_asks_for_them(self, shops):
        bank = with_groups(small.query_bank(), "shop", ["north"] * len(small.query_bank()))
        hubless.build(shops / "catalog", NAME, shops / "items", bank, correction="sn", fit_by="shop")
        self.job(shops, fit_by=None)
        with pytest.raises(InputError, match="fit_by: expected a column, as the collection was built with fit_by"):
            run(shops)


@pytest.mark.parametrize("once", ["once.npy", f"sample/{NAME}"])
def test_counts_of_one_file_are_known_and_each_query_of_another_was_asked_once(folder, once):
    bank = small.query_bank()
    pq.write_table(pa.table({"vector": list(bank[:40]), "count": [7] * 40}), folder / "often.parquet")
    np.save(folder / "once.npy", bank[40:])
    jobs.rewrite(folder, correction=SN, query_bank=["often.parquet", once])
    others = len(bank) - 40 if once == "once.npy" else len(thinned(folder)[0])
    assert run(folder).manifest.bank.queries == 280 + others


CLICKED = pa.table({"query": np.arange(60), "target": [f"item-{row % 7}" for row in range(60)]})


@pytest.mark.parametrize(
    ("built", "asked_for"),
    [
        ({"payload": {"clicks": np.arange(1, 61)}, "target_prior": "clicks"}, "target_prior: expected a column"),
        ({"clicks": CLICKED}, "clicks: expected a table, or target_prior"),
    ],
)
def test_collection_that_was_built_by_what_is_popular_asks_for_it(folder, built, asked_for):
    given = (folder / "catalog", NAME, folder / "items", small.query_bank())
    hubless.build(*given, correction="sn", **built)
    with pytest.raises(InputError, match=f"{asked_for}, as the collection was built with"):
        run(folder)
