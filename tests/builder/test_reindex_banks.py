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
from hubless.corrections.traits import TargetTraits
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


def test_prior_of_a_column_holds_for_new_and_changed_targets(folder):
    clicks = {each: 1 + n for n, each in enumerate(names(0, 60))}
    for file, some in (("a", names(0, 40)), ("b", names(40, 60))):
        write_targets(folder / "items" / f"{file}.parquet", some, clicks=[clicks[each] for each in some])
    jobs.rewrite(folder, correction=SN, query_bank=f"sample/{NAME}", target_prior="clicks")
    run(folder)
    theirs = built_from(folder, *thinned(folder), target_prior="clicks")
    np.testing.assert_allclose(offsets(folder), theirs, atol=1e-6)
    clicks["item-0"] = 500
    write_targets(folder / "items" / "a.parquet", names(0, 40), clicks=[clicks[each] for each in names(0, 40)])
    write_targets(folder / "items" / "c.parquet", names(60, 62), clicks=[None, 1000])
    done = run(folder)
    assert (done.manifest.job.offsets, done.manifest.target_prior.column) == ("kept", "clicks")
    opened = hubless.open(folder / "catalog", NAME)
    asked = ["item-0", "item-60", "item-61"]
    vectors = np.array([unit(vector(each)) for each in asked])
    expected = opened.correction().offsets(
        ArrayVectors(vectors, "v"), traits=TargetTraits(np.array([500, np.nan, 1000]))
    )
    np.testing.assert_allclose([opened.point(each).offset for each in asked], expected, atol=1e-6)
    without = opened.correction().offsets(ArrayVectors(vectors, "v"))
    assert without[2] - expected[2] > 1e-3
    jobs.rewrite(folder, correction=SN, query_bank=f"sample/{NAME}")
    done = run(folder)
    assert any("target_prior is none" in each for each in done.plan.refit)
    assert done.manifest.target_prior is None


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

    def expected(self, shops):
        bank, found = small.query_bank(), np.zeros(len(shops), np.float32)
        targets = np.array([unit(vector(each)) for each in names(0, len(shops))])
        for name, queries in (("north", bank[:40]), ("south", bank[40:])):
            rows = np.array(shops) == name
            found[rows] = hubless.offsets(targets[rows], queries, metric="cosine", correction="sn")
        return found

    def test_job_fits_each_group_and_new_targets_follow_their_own(self, shops):
        done = run(shops)
        assert (done.manifest.fit_by, done.manifest.job.offsets) == ("shop", "fitted")
        np.testing.assert_allclose(offsets(shops), self.expected(self.SHOPS), atol=1e-5)
        self.write_items(shops, [*self.SHOPS, "south", "west"])
        done = run(shops)
        assert (done.manifest.fit_by, done.manifest.job.offsets) == ("shop", "kept")
        opened = hubless.open(shops / "catalog", NAME)
        south = opened.correction().fitted.fits["south"]
        assert opened.point("item-60").offset == pytest.approx(
            south.offsets(unit(vector("item-60"))[None])[0], abs=1e-5
        )
        assert opened.point("item-61").offset == pytest.approx(0, abs=1e-7)

    def test_target_that_moves_to_another_group_is_corrected_as_there(self, shops):
        run(shops)
        before = hubless.open(shops / "catalog", NAME).point("item-0").offset
        self.write_items(shops, ["south", *self.SHOPS[1:]])
        run(shops)
        opened = hubless.open(shops / "catalog", NAME)
        south = opened.correction().fitted.fits["south"].offsets(unit(vector("item-0"))[None])[0]
        assert opened.point("item-0").offset == pytest.approx(south, abs=1e-5)
        assert abs(before - south) > 1e-3

    def test_one_fit_comes_back_when_the_job_says_so(self, shops):
        run(shops)
        self.job(shops, fit_by=None)
        done = run(shops)
        assert done.manifest.fit_by is None
        assert any("fit_by is none, and was shop" in each for each in done.plan.refit)

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
        with pytest.raises(InputError, match="fit_by: expected a column, as the collection was built by groups"):
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
