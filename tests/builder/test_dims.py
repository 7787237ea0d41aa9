"""Versions of fewer dimensions: a basis is fitted, stored, and applied to all that comes after."""

from dataclasses import replace

import numpy as np
import pytest
from support import jobs
from support.hubs import unit
from support.problems import with_hubs

import hubless
from hubless.builder.inputs.reading import fit_basis
from hubless.builder.recipe import Recipe
from hubless.corrections import CORRECTIONS
from hubless.errors import BundleDamaged, InputError
from hubless.lab.gallery import gallery_of
from hubless.vectors.basis import Basis
from hubless.vectors.sources import ArrayVectors, in_memory

D, K = 16, 6
RNG = np.random.default_rng(4)
STRETCH = np.geomspace(1, 0.05, D)
"""Most of the vectors lies in a few dimensions, turned at random."""
TURN = np.linalg.qr(RNG.normal(size=(D, D)))[0]
GIVEN = with_hubs(targets=400, bank=120, target_bank=80, queries=15, dim=D, seed=2)
GIVEN = replace(GIVEN, **{name: (rows * STRETCH @ TURN).astype(np.float32) for name, rows in vars(GIVEN).items()})
IDS = [f"t{row}" for row in range(len(GIVEN.targets))]
OLD = 300


def directions(bank, others, k=K):
    """The largest eigenvectors of E[bb'] + E[vv'], from whole matrices."""
    moments = sum(unit(side).T.astype(float) @ unit(side) / len(side) for side in (bank, others))
    return np.linalg.eigh(moments)[1][:, ::-1][:, :k]


def build(folder, name="c", rows=OLD, **options):
    hubless.build(folder, name, GIVEN.targets[:rows], GIVEN.bank, ids=IDS[:rows], **options)
    return hubless.open(folder, name)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dims")
    build(folder, dims=K, correction="csls")
    return folder


def assert_answers_as_the_formula_says(opened, targets, bank, others, ids):
    """Scores of all targets, reduced and of length 1 by a basis of whole matrices, less the offsets of the bank."""
    way = directions(bank, others)
    reduced, queries = unit(unit(targets) @ way), unit(unit(GIVEN.queries) @ way)
    offsets = CORRECTIONS["csls"]().fit(unit(unit(bank) @ way), reduced).offsets(reduced)
    base = CORRECTIONS["csls"]().fit(unit(unit(bank) @ way), reduced[:OLD]).offsets(reduced[:OLD]).mean()
    scores = queries @ reduced.T - (offsets - base)
    found = opened.query(GIVEN.queries, 10, parameters={"exact": True} if opened.manifest.index.type != "flat" else {})
    np.testing.assert_allclose(found.scores, -np.sort(-scores, axis=1)[:, :10], atol=1e-4)
    assert {each for line in found.ids for each in line} <= set(ids)


def test_build_reduces_everything_by_the_largest_second_moments(catalog):
    opened = hubless.open(catalog, "c")
    assert (opened.dim, opened.stored_dim, opened.manifest.dims) == (D, K, K)
    assert opened.vectors(np.arange(3)).shape == (3, K)
    assert_answers_as_the_formula_says(opened, GIVEN.targets[:OLD], GIVEN.bank, GIVEN.targets[:OLD], IDS[:OLD])


def test_target_bank_takes_the_place_of_the_targets_in_the_basis():
    recipe = Recipe(metric="cosine", dims=K)
    sides = (GIVEN.targets, GIVEN.bank, GIVEN.target_bank)
    basis = fit_basis(recipe, *(ArrayVectors(side, "side") for side in sides))
    want = directions(GIVEN.bank, GIVEN.target_bank)
    np.testing.assert_allclose(basis.directions @ basis.directions.T, want @ want.T, atol=1e-4)


def test_targets_that_are_added_saved_and_merged_are_reduced_by_the_same_basis(tmp_path):
    index = build(tmp_path, dims=K, correction="csls")
    before = index.parts.basis
    index.add(GIVEN.targets[OLD:], ids=IDS[OLD:])
    index.remove(["t0"])
    index.save(tmp_path, "c")
    opened = hubless.open(tmp_path, "c")
    assert before.same_as(opened.parts.basis)
    own = opened.query(ids=["t350"], limit=3)
    again = opened.query(opened.point("t350", vector=True).vector, 4, strength=0.0)
    assert again.ids[0][0] == "t350"
    assert own.ids[0] == again.ids[0][1:]
    assert opened.count == len(IDS) - 1


def test_refit_keeps_the_basis_and_takes_banks_of_either_size(tmp_path):
    before = build(tmp_path, dims=K, correction="csls").parts.basis
    more = GIVEN.queries
    hubless.refit(tmp_path, "c", more, append=True)
    after = hubless.open(tmp_path, "c")
    assert before.same_as(after.parts.basis)
    assert after.manifest.bank.queries == len(GIVEN.bank) + len(more)
    offsets = after.offsets
    reduced = np.vstack([before.reduced(unit(GIVEN.bank)), before.reduced(unit(more))])
    hubless.refit(tmp_path, "c", reduced)
    np.testing.assert_allclose(hubless.open(tmp_path, "c").offsets, offsets, atol=1e-5)


def test_reduced_vectors_that_are_restored_are_reduced_to_the_same():
    basis = Basis(directions(GIVEN.bank, GIVEN.targets).astype(np.float32), "cosine")
    reduced = basis.reduced(unit(GIVEN.queries))
    np.testing.assert_allclose(np.linalg.norm(reduced, axis=1), 1, atol=1e-6)
    restored = basis.restored(reduced)
    assert restored.shape == GIVEN.queries.shape
    np.testing.assert_allclose(basis.reduced(restored), reduced, atol=1e-6)


def test_under_dot_lengths_are_kept():
    index = hubless.Index("none", "dot", dims=K).fit(GIVEN.bank, GIVEN.targets)
    way = directions(GIVEN.bank, GIVEN.targets)  # of unit rows: another basis
    assert index.parts.basis.directions.shape == way.shape
    basis = index.parts.basis
    np.testing.assert_allclose(index.vectors(np.arange(9)), GIVEN.targets[:9] @ basis.directions, atol=1e-5)


def test_auto_leaves_out_dimensions_that_hold_nothing_and_keeps_those_that_matter():
    def kept(rows, bank):
        index = hubless.Index("auto", "cosine", dims="auto").fit(bank, rows)
        return index.stored_dim

    flat = (GIVEN.targets @ TURN.T, GIVEN.bank @ TURN.T)
    thin = [np.ascontiguousarray(side * (np.arange(D) < 4), np.float32) for side in flat]
    assert kept(*thin) == 4
    even = with_hubs(targets=400, bank=120, dim=D, seed=2)
    assert kept(even.targets, even.bank) > D / 2


@pytest.mark.parametrize("dims", [D, D + 1, 0, -1])
def test_dims_that_leave_nothing_out_are_refused(dims):
    with pytest.raises(InputError, match="dims"):
        hubless.Index("csls", "cosine", dims=dims).fit(GIVEN.bank, GIVEN.targets)


def test_missing_or_wrong_basis_is_damage(tmp_path):
    opened = build(tmp_path, dims=K, correction="csls")
    path = opened.parts.folder / "basis.npy"
    np.save(path, np.zeros((D, K - 1), np.float32))
    with pytest.raises(BundleDamaged, match="basis"):
        hubless.open(tmp_path, "c", hashes=False)


def test_job_reduces_new_targets_by_the_basis_of_its_first_version(tmp_path):
    path = jobs.write(tmp_path / "job", dims=K)
    hubless.reindex(path, catalog=tmp_path / "catalog")
    first = hubless.open(tmp_path / "catalog", jobs.NAME)
    assert (first.dim, first.stored_dim) == (jobs.DIM, K)
    jobs.write_targets(tmp_path / "job" / "items" / "c.parquet", jobs.names(60, 66), title=["new"] * 6)
    hubless.reindex(path, catalog=tmp_path / "catalog")
    second = hubless.open(tmp_path / "catalog", jobs.NAME)
    assert second.count == 66
    assert first.parts.basis.same_as(second.parts.basis)
    new = jobs.vector("item-63")
    stored = second.point("item-63", vector=True).vector
    np.testing.assert_allclose(stored, first.parts.basis.reduced(unit(new[np.newaxis]))[0], atol=1e-5)
    hubless.reindex(path, catalog=tmp_path / "catalog", full=True)
    assert first.parts.basis.same_as(hubless.open(tmp_path / "catalog", jobs.NAME).parts.basis)
    with pytest.raises(InputError, match="dims"):
        hubless.reindex(jobs.rewrite(tmp_path / "job", dims=K - 1), catalog=tmp_path / "catalog")


def test_bank_of_a_sample_of_live_queries_has_all_dimensions(catalog):
    gallery = gallery_of(hubless.open(catalog, "c"))
    compared = in_memory(gallery.queries(GIVEN.queries, "queries"))
    assert compared.shape == (len(GIVEN.queries), K)
    assert gallery.restored(compared).shape == GIVEN.queries.shape
