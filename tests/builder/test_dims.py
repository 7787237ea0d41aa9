from dataclasses import replace

import numpy as np
import pytest
from support import jobs, small
from support.hubs import unit
from support.problems import with_hubs

import hubless
from hubless.builder.inputs.bases import fit_space
from hubless.builder.recipe import Recipe
from hubless.corrections import CORRECTIONS
from hubless.errors import BundleDamaged, InputError
from hubless.vectors.sources import ArrayVectors
from hubless.vectors.space import Space

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
    again = opened.query(opened.point("t50", vector=True).vector, 4, strength=0.0).ids[0]
    assert again == ["t50", *opened.query(ids=["t50"], limit=3).ids[0]]


def test_target_bank_takes_the_place_of_the_targets_in_the_space():
    recipe = Recipe(metric="cosine", dims=K)
    sides = (GIVEN.targets, GIVEN.bank, GIVEN.target_bank)
    found = fit_space(recipe, *(ArrayVectors(side, "side") for side in sides)).directions
    want = directions(GIVEN.bank, GIVEN.target_bank)
    np.testing.assert_allclose(found @ found.T, want @ want.T, atol=1e-4)


def test_refit_keeps_the_space_and_takes_banks_of_either_size(tmp_path):
    before = build(tmp_path, dims=K, correction="csls").parts.space
    more = GIVEN.queries
    hubless.refit(tmp_path, "c", more, append=True)
    after = hubless.open(tmp_path, "c")
    assert before.asks_like(after.parts.space)
    assert after.manifest.bank.queries == len(GIVEN.bank) + len(more)
    offsets = after.offsets
    reduced = np.vstack([before.compared_rows(rows, "bank") for rows in (GIVEN.bank, more)])
    hubless.refit(tmp_path, "c", reduced)
    np.testing.assert_allclose(hubless.open(tmp_path, "c").offsets, offsets, atol=1e-5)


def test_reduced_vectors_that_are_restored_are_reduced_to_the_same():
    space = Space("cosine", D, directions(GIVEN.bank, GIVEN.targets).astype(np.float32))
    reduced = space.compared_rows(GIVEN.queries, "queries")
    np.testing.assert_allclose(np.linalg.norm(reduced, axis=1), 1, atol=1e-6)
    restored = space.restored(reduced)
    assert restored.shape == GIVEN.queries.shape
    np.testing.assert_allclose(space.compared_rows(restored, "queries"), reduced, atol=1e-6)


def test_under_dot_lengths_are_kept():
    index = hubless.Index("none", "dot", dims=K).fit(GIVEN.bank, GIVEN.targets)
    way = directions(GIVEN.bank, GIVEN.targets)  # of unit rows: another basis
    kept = index.parts.space.directions
    assert kept.shape == way.shape
    np.testing.assert_allclose(index.vectors(np.arange(9)), GIVEN.targets[:9] @ kept, atol=1e-5)


def test_auto_leaves_out_dimensions_that_hold_nothing_and_keeps_those_that_matter():
    def kept(rows, bank):
        index = hubless.Index("auto", "cosine", dims="auto").fit(bank, rows)
        return index.stored_dim

    flat = (GIVEN.targets @ TURN.T, GIVEN.bank @ TURN.T)
    thin = [np.ascontiguousarray(side * (np.arange(D) < 4), np.float32) for side in flat]
    assert kept(*thin) == 4
    even = with_hubs(targets=400, bank=120, dim=D, seed=2)
    assert kept(even.targets, even.bank) > D / 2


@pytest.mark.parametrize(("name", "keep_full", "shape"), [("basis", False, (D, K - 1)), ("full", True, (OLD, D - 1))])
def test_basis_or_whole_vectors_of_another_shape_are_damage(tmp_path, name, keep_full, shape):
    opened = build(tmp_path, dims=K, keep_full=keep_full, correction="csls")
    np.save(small.path_of(opened.parts.folder, f"{name}.npy"), np.zeros(shape, np.float32))
    with pytest.raises(BundleDamaged, match=name):
        hubless.open(tmp_path, "c", hashes=False)


def test_job_keeps_the_space_of_its_first_version_and_takes_no_other_number_of_dimensions(tmp_path):
    path = jobs.write(tmp_path / "job", dims=K)
    spaces = []
    for full in (False, True):
        hubless.reindex(path, catalog=tmp_path / "catalog", full=full)
        spaces.append(hubless.open(tmp_path / "catalog", jobs.NAME).parts.space)
    assert spaces[0].asks_like(spaces[1])
    with pytest.raises(InputError, match="dims"):
        hubless.reindex(jobs.rewrite(tmp_path / "job", dims=K - 1), catalog=tmp_path / "catalog")


def two_stages(targets, queries, offsets, way, limit, candidates):
    """Rows and scores of the best whole vectors among those that the products with a stored basis find."""
    whole = unit(queries) @ unit(targets).T - offsets
    found = np.argsort(offsets - unit(queries) @ way @ (unit(targets) @ way).T, axis=1)[:, :candidates]
    best = np.take_along_axis(found, np.argsort(-np.take_along_axis(whole, found, axis=1), axis=1), axis=1)[:, :limit]
    return best, np.take_along_axis(whole, best, axis=1)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    payload = {"parity": [row % 2 for row in range(OLD)]}
    build(folder, dims=3, keep_full=True, correction="csls", index="flat", recall=0.3, payload=payload)
    return folder


def test_whole_vectors_rank_the_candidates_of_the_index_by_offsets_of_their_own(kept):
    opened, few = hubless.open(kept, "c"), GIVEN.targets[:OLD]
    assert (opened.dim, opened.stored_dim, opened.manifest.dims, opened.manifest.index.candidates) == (D, D, 3, 50)
    offsets = CORRECTIONS["csls"]().fit(unit(GIVEN.bank), unit(few)).offsets(unit(few))
    np.testing.assert_allclose(opened.offsets, offsets - offsets.mean(), atol=1e-5)
    opened.check_canaries()
    way = np.load(small.path_of(opened.parts.folder, "basis.npy"))
    np.testing.assert_allclose(way.T @ way, np.eye(3), atol=1e-5)
    for limit, candidates in ((10, 50), (22, 100)):
        rows, scores = two_stages(few, GIVEN.queries, opened.offsets, way, limit, candidates)
        found = opened.query(GIVEN.queries, limit)
        assert found.ids == [[IDS[row] for row in line] for line in rows]
        np.testing.assert_allclose(found.scores, scores, atol=1e-5)
    exact = unit(GIVEN.queries) @ unit(few).T - opened.offsets
    for filter, rows in ((None, np.arange(OLD)), ({"parity": 1}, np.arange(1, OLD, 2))):
        found = opened.query(GIVEN.queries, 10, parameters={"exact": True}, filter=filter)
        assert found.ids == [[IDS[rows[row]] for row in np.argsort(-line)[:10]] for line in exact[:, rows]]
    raw = opened.query(GIVEN.queries, 10, filter={"parity": 1}, strength=0.0)
    assert all(int(each[1:]) % 2 for line in raw.ids for each in line)


@pytest.mark.parametrize(("index", "correction"), [("fastscan", "auto"), ("hnsw", "dis"), ("flat", "sinkhorn")])
def test_index_of_fewer_dimensions_ranks_as_one_of_all_does(index, correction):
    found = []
    for options in ({}, {"dims": K, "keep_full": True}):
        made = hubless.Index(correction, "cosine", index=index, **options).fit(GIVEN.bank, GIVEN.targets)
        found.append(made.query(GIVEN.queries, 10, parameters={} if options else {"exact": True}))
    whole, kept = found
    assert np.mean([len({*one} & {*other}) / 10 for one, other in zip(whole.ids, kept.ids, strict=True)]) > 0.95
    np.testing.assert_allclose(kept.scores[:, 0], whole.scores[:, 0], atol=2e-3)


def test_new_fit_keeps_whole_vectors(kept):
    hubless.open(kept, "c").save(kept, "again")
    hubless.refit(kept, "again", GIVEN.queries, append=True, progress=False)
    again = hubless.open(kept, "again")
    assert (again.manifest.dims, again.manifest.index.candidates, again.stored_dim) == (3, 50, D)
    np.testing.assert_allclose(again.point("t250", vector=True).vector, unit(GIVEN.targets)[250], atol=1e-6)
    few = unit(GIVEN.targets[:OLD])
    offsets = CORRECTIONS["csls"]().fit(unit(np.vstack([GIVEN.bank, GIVEN.queries])), few).offsets(few)
    np.testing.assert_allclose(again.offsets, offsets - offsets.mean(), atol=1e-5)


def test_job_turns_keep_full_on_and_off(tmp_path):
    kept = {"dims": K, "keep_full": True}
    for more, dims in (({}, None), (kept, K), ({}, None)):
        path = jobs.write(tmp_path / "job", **more)
        hubless.reindex(path, catalog=tmp_path / "catalog", progress=False)
        opened = hubless.open(tmp_path / "catalog", jobs.NAME)
        assert (opened.manifest.dims, opened.manifest.keep_full, opened.stored_dim) == (dims, bool(dims), jobs.DIM)
    with pytest.raises(InputError, match="dims"):
        hubless.reindex(jobs.rewrite(tmp_path / "job", dims=K), catalog=tmp_path / "catalog", progress=False)
