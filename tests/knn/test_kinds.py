import faiss
import numpy as np
import pytest

from hubless.errors import InputError
from hubless.knn import INDEXES
from hubless.knn.augment import AugmentedVectors, centre, folded_queries, pivot_of, pivoted
from hubless.knn.base import halving
from hubless.knn.exhaustive import openmp_threads
from hubless.knn.hnsw import joined_by_distance
from hubless.knn.index_files import make_index, read_index, write_index
from hubless.vectors.arrays import half_rows
from hubless.vectors.comparing import comparison
from hubless.vectors.sources import ChangedVectors, as_source

K = 10


@pytest.fixture(scope="module", params=INDEXES)
def kind(request):
    return INDEXES[request.param]


def make(kind, problem, seed=0):
    """An index, the augmented queries, and the exact scores of the targets as they are stored."""
    targets, bank = as_source(problem.targets, "targets"), as_source(problem.bank, "bank")
    offsets = centre((problem.targets @ problem.bank.T).max(axis=1))
    half = kind.precision == "float16"
    pivot = pivot_of(bank, targets, offsets) if kind.pivoted else None
    vectors = AugmentedVectors(
        ChangedVectors(targets, comparison("dot").halved) if half else targets, offsets, pivot, half
    )
    stored = half_rows(problem.targets, "targets") if half else problem.targets
    exact = problem.queries.astype(np.float64) @ stored.T - offsets
    queries = folded_queries(problem.queries, 1.0)
    return make_index(kind, vectors, seed), queries if pivot is None else pivoted(queries, pivot), exact


@pytest.fixture(scope="module")
def made(kind, problem):
    return make(kind, problem)


def thorough(kind, index):
    ladder = kind.ladder(index.ntotal)
    return {name: max(each[name] for each in ladder) for name in ladder[0]}


def test_scores_are_exact_for_the_stored_vectors(kind, made):
    index, queries, exact = made
    scores, rows = kind.search(index, queries, K, thorough(kind, index))
    np.testing.assert_allclose(scores, np.take_along_axis(exact, rows, axis=1), rtol=0, atol=2e-6)
    assert (np.diff(scores, axis=1) <= 0).all()


def test_most_thorough_setting_finds_nearly_all(kind, made):
    index, queries, exact = made
    _, rows = kind.search(index, queries, K, thorough(kind, index))
    best = np.argsort(-exact, axis=1)[:, :K]
    assert np.mean([len(set(a) & set(b)) / K for a, b in zip(rows, best, strict=True)]) >= 0.99


def test_selector_keeps_to_the_selected_rows(kind, made):
    index, queries, exact = made
    chosen = np.arange(0, index.ntotal, 7)
    selector = faiss.IDSelectorBatch(chosen)
    _, rows = kind.search(index, queries, K, thorough(kind, index), selector)
    assert np.isin(rows[rows >= 0], chosen).all()
    scores, rows = kind.exact(index, queries, K, selector)
    assert np.isin(rows, chosen).all()
    np.testing.assert_allclose(scores, -np.sort(-exact[:, chosen], axis=1)[:, :K], rtol=0, atol=2e-6)


def test_mapped_file_gives_the_same_answers_and_vectors(kind, made, tmp_path):
    index, queries, _ = made
    write_index(index, tmp_path / "index")
    mapped = read_index(tmp_path / "index")
    setting = kind.ladder(index.ntotal)[0]
    for one, other in zip(
        kind.search(index, queries, K, setting), kind.search(mapped, queries, K, setting), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    rows = np.array([3, 0, index.ntotal - 1])
    np.testing.assert_array_equal(mapped.reconstruct_batch(rows), index.reconstruct_batch(rows))


@pytest.mark.parametrize("threads", [1, 3])
def test_same_vectors_and_seed_give_the_same_bytes(kind, problem, threads):
    with openmp_threads(threads):
        one, other = (faiss.serialize_index(make(kind, problem)[0]) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_size_is_about_that_of_the_file(kind, made):
    index, _, _ = made
    written = len(faiss.serialize_index(index))
    # graph levels and codebooks weigh more in a small index
    assert 0.5 * written <= kind.size(index.ntotal, index.d) <= 1.3 * written


@pytest.mark.parametrize("value", [0, -1, 1.5, "8", True, None])
def test_parameter_that_is_no_whole_number_above_0_is_refused(kind, value):
    for name in kind.ladder(1000)[0]:
        with pytest.raises(InputError, match=f"parameters.{name}"):
            kind.check({name: value})


def test_unknown_parameter_is_refused_naming_the_known(kind):
    with pytest.raises(InputError) as refused:
        kind.check({"probes": 3})
    for name in kind.ladder(1000)[0]:
        assert name in str(refused.value)


@pytest.mark.parametrize("count", [0, 1, 2, 9, 21])
def test_halving_asks_for_each_value_once_and_finds_the_least_that_suffices_in_few(count):
    values = list(range(10, 10 + count))
    order = halving(values)
    assert sorted(order) == values
    for least in values:
        asked = []
        for value in order:
            if all((value < seen) if seen >= least else (value > seen) for seen in asked):
                asked.append(value)
        assert min(seen for seen in asked if seen >= least) == least
        assert 2 ** len(asked) <= 2 * len(values)


def test_graph_of_very_uneven_lengths_leaves_no_target_aside_and_scores_by_products():
    rng = np.random.default_rng(0)
    targets = (rng.standard_normal((1500, 16)) * np.exp(rng.normal(size=(1500, 1)))).astype(np.float32)
    graph = faiss.IndexHNSWFlat(16, 8, faiss.METRIC_INNER_PRODUCT)
    with joined_by_distance(graph):
        graph.add(targets)
    named = np.bincount(faiss.vector_to_array(graph.hnsw.neighbors) + 1, minlength=1501)[1:]
    assert np.mean(named == 0) < 0.01  # by products a third, as all name the longest
    scores, rows = graph.search(targets[:20], 1)
    np.testing.assert_allclose(scores[:, 0], (targets[:20] * targets[rows[:, 0]]).sum(axis=1), rtol=1e-5)


def test_fewer_hits_are_the_first_of_ten_at_the_quickest_setting(kind, made):
    index, queries, _ = made
    quickest = kind.ladder(index.ntotal)[0]
    for ask in (queries, -queries):  # the second are far from all targets, where codes tell least
        ten = kind.search(index, ask, K, quickest)
        for k in (1, 3):
            for few, all_ten in zip(kind.search(index, ask, k, quickest), ten, strict=True):
                np.testing.assert_array_equal(few, all_ten[:, :k])


@pytest.mark.parametrize(("name", "parameter"), [("ivf", "nprobe"), ("hnsw", "ef")])
def test_search_among_a_quarter_of_the_targets_goes_twice_as_far(name, parameter):
    assert INDEXES[name].narrowed({parameter: 64}, 25_000, 100_000) == {parameter: 128}
