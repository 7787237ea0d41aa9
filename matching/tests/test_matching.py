"""Two piles matched, and the duplicates of one, beside plain formulas on whole matrices."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from support.labelled import pairs

import hubless
from hubless.errors import InputError
from hubless_matching import matching

COUNT = 400
GIVEN = pairs(COUNT, dim=32, lean=0.8, noise=0.7)
A, B = GIVEN.queries[:300], GIVEN.targets[100:]
"""Row i of A is row i − 100 of B, if there is one."""
LABELS = {row: row - 100 if row >= 100 else [] for row in range(300)}


def match(*given, **options):
    return hubless.match(*given, **{"metric": "cosine"} | options)


def best(scores, count):
    return -np.sort(-scores, axis=1)[:, :count]


def recall(right):
    """The right ones among the first of which 95 % are right."""
    hits = np.cumsum(right)
    return max(hits[hits >= 0.95 * np.arange(1, len(hits) + 1)], default=0)


def lead(scores):
    first, *others = best(scores, 11).T
    spread = np.median(np.std(others, axis=0))
    return -np.log(np.exp((np.array(others) - first) / spread).sum(axis=0))


@pytest.fixture(scope="module")
def found():
    return match(A, B)


def test_pairs_find_each_other_first_and_are_ordered_by_how_far_they_are_ahead(found):
    offsets = [hubless.offsets(*piles, metric="cosine") for piles in ((B, A), (A, B))]
    there, back = A @ B.T - offsets[0], B @ A.T - offsets[1]
    first, second = there.argmax(axis=1), back.argmax(axis=1)
    leads = lead(there) + lead(back)[first]
    rows = [row for row in np.argsort(-leads) if second[first[row]] == row]
    assert [(pair.a, pair.b) for pair in found.pairs] == [(row, first[row]) for row in rows]
    assert [pair.lead for pair in found.pairs] == pytest.approx(leads[rows], abs=1e-3)
    assert [pair.similarity for pair in found.pairs] == pytest.approx((A @ B.T)[rows, first[rows]], abs=1e-6)


def test_more_right_pairs_come_first_than_by_the_cosine(found):
    cosine = A @ B.T
    first, second = cosine.argmax(axis=1), cosine.argmax(axis=0)
    rows = np.array([row for row in range(300) if second[first[row]] == row])
    plain = (rows - first[rows] == 100)[np.argsort(-cosine[rows, first[rows]])]
    assert recall([pair.a - pair.b == 100 for pair in found.pairs]) > 2 * recall(plain) > 0


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_every_metric_finds_noisy_copies_whatever_the_blocks(metric, monkeypatch):
    vectors = GIVEN.targets[:90]
    order = np.random.default_rng(2).permutation(90)
    copies = vectors[order] + np.float32(0.01)
    whole = match(vectors, copies, metric=metric)
    monkeypatch.setattr(matching, "_TOGETHER", 7)
    blocks = match(vectors, copies, metric=metric)
    assert {(pair.a, pair.b) for pair in whole.pairs} == {(row, place) for place, row in enumerate(order)}
    assert [pair.lead for pair in blocks.pairs] == pytest.approx([pair.lead for pair in whole.pairs], abs=1e-3)


def test_duplicates_of_one_pile_are_ahead_of_the_ten_nearest_of_both():
    pile = np.concatenate([GIVEN.targets[:150], GIVEN.targets[:9], GIVEN.targets[:3]])
    found = match(pile)
    cosine = (pile @ pile.T).astype(np.float64)
    np.fill_diagonal(cosine, -2)
    means = best(cosine, 10).mean(axis=1)
    for pair in found.pairs:
        assert pair.a < pair.b
        assert pair.lead == pytest.approx(cosine[pair.a, pair.b] - (means[pair.a] + means[pair.b]) / 4, abs=1e-6)
    of_copies = [{pair.a, pair.b} for pair in found.pairs if pair.similarity > 0.9999]
    assert all({row, 150 + row} in of_copies for row in range(3, 9))
    # three copies come together by two pairs
    assert all(len(set().union(*(each for each in of_copies if each & {row, 150 + row}))) == 3 for row in range(3))
    assert len({(pair.a, pair.b) for pair in found.pairs}) == len(found.pairs)


def test_labels_promise_the_pairs_above_the_guaranteed_cut(found):
    some = {row: LABELS[row] for row in np.random.default_rng(0).permutation(300)[:250].tolist()}
    promised = match(A, B, some)
    known = [pair for pair in found.pairs if pair.a in some]
    right = [pair.a - pair.b == 100 for pair in known]
    cut = hubless.guaranteed_cut([pair.lead for pair in known], right, 0.95)
    assert promised.labelled == len(known)
    assert promised.threshold == cut.threshold
    assert promised.promised == sum(pair.lead >= cut.threshold for pair in found.pairs) > 20
    assert [each["promised"] for each in promised.records()].count(True) == promised.promised
    assert match(A, B, {row: [] for row in range(300)}).promised == 0


def test_either_duplicate_may_have_the_label():
    pile = np.concatenate([A, A + np.float32(1e-3)])
    of_first = {row: row + 300 for row in range(300)}
    for labels in (of_first, {copy: row for row, copy in of_first.items()}):
        assert match(pile, None, labels).promised == 300


def test_ids_of_files_name_pairs_and_labels_of_some_are_enough(tmp_path, run):
    for name, rows in {"a": A, "b": B}.items():
        ids = [f"{name}{row}" for row in range(len(rows))]
        pq.write_table(pa.table({"id": ids, "vector": rows.tolist()}), tmp_path / f"{name}.parquet")
    labels = {f"a{row}": [f"b{row - 100}"] if row >= 100 else [] for row in range(20, 300)}
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    lines = ["id,relevant", *(f"{item},{','.join(right)}" for item, right in labels.items() if right)]
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet", "--relevant"]
    made = run("match", *files, tmp_path / "labels.json", "--output", tmp_path / "pairs.csv", "--json").json
    assert made["pairs"][0]["a"].startswith("a")
    run("match", *files, tmp_path / "labels.json", "--output", tmp_path / "pairs.parquet")
    for written in (pc.read_csv(tmp_path / "pairs.csv"), pq.read_table(tmp_path / "pairs.parquet")):
        assert written["b"].to_pylist() == [pair["b"] for pair in made["pairs"]]
        assert written["promised"].to_pylist().count(True) == made["promised"] > 0
    shown = run("match", *files, tmp_path / "labels.csv")
    assert shown.code == 0
    assert "% are right" in " ".join(shown.out.split())
    assert "nothing is promised" in " ".join(run("match", *files[:2]).out.split())


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ((A, B[:, :5]), {}, "b: expected 32 dimensions, as a has, got 5"),
        ((A, B[:2]), {}, "b: expected at least 3 items, got 2"),
        ((A[:0],), {}, "a: expected a matrix with at least one row"),
        ((A, np.where(np.arange(32) == 3, np.nan, B)), {}, "b, row 0, column 3: expected a finite number"),
        ((A, B), {"metric": None}, "metric: expected"),
        ((A, B), {"precision": 1}, "precision: expected a number above 0 and below 1"),
        ((A, B, {0: 300}), {}, "relevant, key 0: expected the row number of a record of b, 0 to 299"),
        ((A, B, {300: 0}), {}, "relevant, key 300: expected the row number of a record of a, 0 to 299"),
        ((A, B, {100: 0}), {}, "relevant: expected labels for at least 116 of the pairs, .* 0.95, got"),
    ],
)
def test_piles_and_labels_that_do_not_fit_are_named(given, options, message):
    with pytest.raises(InputError, match=message):
        match(*given, **options)


def test_file_of_another_kind_is_refused_before_the_work(run, tmp_path):
    refused = run("match", tmp_path / "a.npy", "--output", tmp_path / "pairs.svg")
    assert refused.code == 2
    assert "a file ending in .csv, .parquet, got .svg" in " ".join(refused.err.split())
