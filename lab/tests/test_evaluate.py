import json

import numpy as np
import pytest
from support import naive
from support.files import load_trustingly, write_npy, write_parquet, write_pickled
from support.labelled import compare, pairs, saved
from support.problems import with_hubs

import hubless
from hubless.corrections.grouped import with_groups
from hubless.errors import InputError
from hubless_lab.experiments import evaluate as module
from hubless_lab.experiments.compare import compare_strictly
from hubless_lab.experiments.evaluate import evaluate
from hubless_lab.experiments.methods import Method

PROBLEM = with_hubs(targets=60, queries=50)
RELEVANT = np.random.default_rng(0).integers(0, 60, size=50)


def built(folder, targets=PROBLEM.targets, **more):
    hubless.build(folder, "c", targets, PROBLEM.bank, target_bank=PROBLEM.target_bank, **more)
    return hubless.open(folder, "c")


@pytest.fixture(scope="module", params=["cosine", "dot"])
def collection(request, tmp_path_factory):
    return built(tmp_path_factory.mktemp("catalog"), metric=request.param)


def brute_force(collection, queries, relevant, strength=1.0):
    """Recalls, median and mean rank and skewness of the raw and the corrected ranking."""
    rows = [[row] if np.ndim(row) == 0 else list(row) for row in relevant]
    asked = [query for query, right in enumerate(rows) if right]
    queries, targets = queries.astype(np.float64), PROBLEM.targets.astype(np.float64)
    if collection.manifest.metric == "cosine":
        queries, targets = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (queries, targets))
    raw = queries[asked] @ targets.T
    for scores in (raw, raw - strength * collection.offsets):
        ranks = naive.ranks(scores, [rows[query] for query in asked])
        recalls = [np.mean(ranks <= k) for k in (1, 5, 10)]
        yield [*recalls, np.median(ranks), ranks.mean(), naive.skewness(naive.occurrence(scores, 10))]


def figures(evaluation, ranking):
    quality = getattr(evaluation, ranking)
    names = ("recall_at_1", "recall_at_5", "recall_at_10", "median_rank", "mean_rank", "skewness")
    return [quality[name] for name in names]


SEVERAL = [[3, 5], [7], [], [59, 0, 3], 4, *([1] for _ in range(44)), []]


@pytest.mark.parametrize("held", [2**24, 60 * 7], ids=["one block", "blocks of 7"])
@pytest.mark.parametrize(("strength", "relevant"), [(0.5, RELEVANT), (1.0, SEVERAL)])
def test_evaluation_is_that_by_brute_force(collection, relevant, strength, held, monkeypatch):
    monkeypatch.setattr(module, "_SCORES_HELD", held)
    found = evaluate(collection, PROBLEM.queries, relevant, strength=strength)
    raw, corrected = brute_force(collection, PROBLEM.queries, relevant, strength)
    np.testing.assert_allclose(figures(found, "raw"), raw, atol=1e-6)
    np.testing.assert_allclose(figures(found, "corrected"), corrected, atol=1e-6)
    assert found.targets == 60


def test_recalls_without_1_are_measured_beside_r_at_1(collection):
    found = evaluate(collection, PROBLEM.queries, RELEVANT, recalls=[3])
    assert found.row("corrected").change is not None
    assert {"recall_at_1", "recall_at_3"} <= found.raw.keys()
    with pytest.raises(InputError, match="recall at: expected a whole number of at least 1, got 0"):
        evaluate(collection, PROBLEM.queries, RELEVANT, recalls=[0])


def test_queries_without_relevant_targets_are_counted_and_left_out(collection):
    found = evaluate(collection, PROBLEM.queries, SEVERAL)
    assert (found.queries, found.left_out) == (48, [2, 49])
    asked = [query for query, rows in enumerate(SEVERAL) if rows != []]
    only = evaluate(collection, PROBLEM.queries[asked], [SEVERAL[query] for query in asked])
    assert (only.queries, only.left_out) == (48, [])
    assert (only.raw, only.corrected) == (found.raw, found.corrected)


def test_files_give_what_arrays_give(collection, tmp_path):
    expected = evaluate(collection, PROBLEM.queries, RELEVANT)
    np.save(tmp_path / "relevant.npy", RELEVANT)
    (tmp_path / "relevant.json").write_text(json.dumps(RELEVANT.tolist()))
    (tmp_path / "lists.json").write_text(json.dumps([[row] for row in RELEVANT.tolist()]))
    write_npy(tmp_path / "queries.npy", PROBLEM.queries.astype(np.float64))
    write_parquet(tmp_path / "queries.parquet", PROBLEM.queries)
    for queries, relevant in (
        ("queries.npy", "relevant.npy"),
        ("queries.parquet", "relevant.json"),
        ("queries.npy", "lists.json"),
    ):
        assert evaluate(collection, tmp_path / queries, str(tmp_path / relevant)) == expected


def test_collection_of_fewer_dimensions_is_measured_as_it_is_served():
    """By `evaluate`, on strict splits, and in a diagnosis with labels: queries have all dimensions."""
    given, bank, right = pairs(200), pairs(200, seed=1).queries, np.arange(200)
    index = hubless.Index("csls", "cosine", dims=8).fit(bank, given.targets)
    for strength, name in ((0, "raw"), (1, "corrected")):
        first = index.query(given.queries, 1, strength).rows[:, 0]
        assert getattr(evaluate(index, given.queries, right), name)["recall_at_1"] == np.mean(first == right)
    strict = compare_strictly(index, given.queries, right, seeds=1)
    assert 0 < strict.rows[0].quality["recall_at_1"] <= 1
    diagnosed = hubless.diagnose(index, queries=given.queries, relevant=right)
    assert diagnosed.verdict[0].startswith("Measured with your 200 labels")


def test_labels_without_any_right_target_are_refused(collection):
    with pytest.raises(InputError, match="relevant: expected a right target for at least one query, got none"):
        evaluate(collection, PROBLEM.queries, [[]] * 50)


def test_pickled_labels_are_refused_and_never_loaded(collection, tmp_path):
    path, trace = write_pickled(tmp_path / "relevant.npy", tmp_path / "trace"), tmp_path / "trace"
    with pytest.raises(InputError, match=r"^relevant \(relevant.npy\): expected a readable .npy file, got "):
        evaluate(collection, PROBLEM.queries, path)
    assert not trace.exists()
    load_trustingly(path)
    assert trace.exists()  # so it would have been noticed


GIVEN, OTHERS = pairs(), pairs(seed=1)
RIGHT = np.array([rows[0] for rows in GIVEN.relevant])


def with_bank(folder, bank, **options):
    hubless.build(folder, "things", GIVEN.targets, bank, metric="cosine", **options)
    return hubless.open(folder, "things")


@pytest.mark.parametrize("correction", ["auto", "nnn", "dn"])
def test_test_queries_in_the_bank_of_a_version_are_noted_first(tmp_path, correction):
    bank = np.concatenate([GIVEN.queries[:120], OTHERS.queries])
    notes = evaluate(with_bank(tmp_path, bank, correction=correction), GIVEN.queries, RIGHT).as_json()["notes"]
    share = float(notes[0].split(" %")[0])
    assert 40 < share <= 50  # a tenth of the bank is held out from the fit
    assert "test queries are in the query bank of this version: a leak" in notes[0]


def test_right_targets_in_the_bank_of_a_version_are_noted(tmp_path):
    bank = np.concatenate([GIVEN.targets[:10], OTHERS.queries])
    notes = evaluate(with_bank(tmp_path, bank), GIVEN.queries, RIGHT).leaks
    assert len(notes) == 1
    assert "of the right targets are in the query bank" in notes[0]


def test_strict_measures_the_correction_of_a_collection_without_its_bank(tmp_path):
    collection = with_bank(tmp_path, GIVEN.queries, correction="nnn", parameters={"k": 16})
    ours = compare_strictly(collection, GIVEN.queries, RIGHT, seeds=2)
    entries = [Method("none"), Method("nnn", {"k": 16})]
    theirs = compare(GIVEN.queries, GIVEN.targets, RIGHT, entries, seeds=2)
    assert [row.label for row in ours.rows] == ["none", "nnn k=16"]
    assert ours.rows[1].change.value == pytest.approx(theirs.rows[1].change.value, abs=0.01)


def test_offsets_of_ones_own_cannot_be_split(tmp_path):
    given = with_bank(tmp_path, None, correction="offsets", offsets=np.zeros(240))
    with pytest.raises(InputError, match=r"^correction: expected one that is fitted on queries; compare"):
        compare_strictly(given, GIVEN.queries, RIGHT)


def test_command_says_it_in_the_first_line_and_strict_splits(run, tmp_path):
    with_bank(tmp_path / "catalog", GIVEN.queries)
    files = saved(tmp_path, GIVEN)
    asked = ["evaluate", "--catalog", tmp_path / "catalog", "--collection", "things", "--queries", files["queries"]]
    asked += ["--relevant", files["relevant"]]
    assert run(*asked).out.startswith("Warning: 100 % of the test queries are in the query bank")
    assert "a leak" in run(*asked, "--json").json["notes"][0]
    assert run(*asked, "--strict", "--set", "seeds=2", "--json").json["protocol"] == "strict"
    assert run(*asked, "--strict", "--set", "attribute=x").code == 2


COUNTS = np.random.default_rng(2).lognormal(1, 1.5, 240)
ENTRIES = [Method("none"), Method("csls"), Method("auto")]


def compared(**options):
    return compare(GIVEN.queries, GIVEN.targets, GIVEN.relevant, ENTRIES, query_bank=OTHERS.queries, **options)


class TestComparisons:
    def test_only_corrections_that_take_one_are_fitted_with_it(self):
        without, beside = compared(), compared(target_prior=COUNTS)
        changed = [a.label for a, b in zip(without.rows, beside.rows, strict=True) if a.quality != b.quality]
        assert changed == ["auto"]
        assert "sn, dbsn, auto are fitted with the target prior; other corrections take none" in beside.notes


class TestCollections:
    @pytest.mark.parametrize(
        "given", [{"payload": {"clicks": COUNTS}, "target_prior": "clicks"}, {"target_prior": COUNTS}]
    )
    def test_strict_measures_with_the_prior_of_the_collection(self, tmp_path, given):
        hubless.build(tmp_path, "c", GIVEN.targets, OTHERS.queries, **given)
        found = compare_strictly(hubless.open(tmp_path, "c"), GIVEN.queries, GIVEN.relevant, seeds=2)
        entries = [Method("none"), Method("auto")]
        expected = compare(GIVEN.queries, GIVEN.targets, GIVEN.relevant, entries, seeds=2, target_prior=COUNTS)
        assert found.row("auto").quality == expected.row("auto").quality

    def test_strict_says_that_groups_are_measured_with_one_fit(self, tmp_path):
        bank, tenants = with_groups(OTHERS.queries, "tenant", ["a"] * len(OTHERS.queries)), ["a"] * len(GIVEN.targets)
        hubless.build(tmp_path, "c", GIVEN.targets, bank, payload={"tenant": tenants}, fit_by="tenant")
        found = compare_strictly(hubless.open(tmp_path, "c"), GIVEN.queries, GIVEN.relevant, seeds=2)
        assert found.notes[-1] == "the collection is fitted by tenant: it is measured with one fit for all"

    @pytest.mark.parametrize(("strength", "measured"), [(None, 0.25), (1.0, 1.0)])
    def test_evaluate_is_at_the_strength_that_is_served(self, tmp_path, strength, measured):
        hubless.build(tmp_path, "c", GIVEN.targets, OTHERS.queries, strength=0.25)
        collection = hubless.open(tmp_path, "c")
        found = evaluate(collection, GIVEN.queries, GIVEN.relevant, strength=strength)
        same = evaluate(collection, GIVEN.queries, GIVEN.relevant, strength=measured)
        assert found.corrected == same.corrected
        assert found.notes[-1].endswith(f", strength {measured:g}")
