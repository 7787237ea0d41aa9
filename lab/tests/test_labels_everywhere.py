"""One file of labels means the same to all that take labels."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.labelled import pairs

import hubless
from hubless.diagnosing.gallery import open_gallery
from hubless.errors import InputError
from hubless_lab.experiments.abstain import abstain, abstain_collection
from hubless_lab.experiments.compare import compare_strictly
from hubless_lab.report import make_report

N = 120
GIVEN, BANK = pairs(N), pairs(N, seed=1).queries
ORDER = np.random.default_rng(0).permutation(N)
TEXTS = [f"t{row}" for row in ORDER]
QUERIES, TARGETS = GIVEN.queries, GIVEN.targets
FIRST = float(np.mean((QUERIES @ TARGETS.T).argmax(axis=1) == np.arange(N)))
QUICK = {"metric": "cosine", "seeds": 1, "progress": False}


def built(ids=TEXTS, **more):
    return hubless.Index("csls", "cosine").fit(BANK, TARGETS, ids=ids, **more)


TAKERS = {
    "evaluate": lambda right, ids: hubless.evaluate(built(ids), QUERIES, right),
    "compare": lambda right, ids: hubless.compare(QUERIES, TARGETS, right, ["csls"], ids=ids, **QUICK),
    "compare similarities": lambda right, ids: hubless.compare(
        hubless.SimilarityMatrices(QUERIES @ TARGETS.T), relevant=right, corrections=["csls"], ids=ids, seeds=1
    ),
    "compare strictly": lambda right, ids: compare_strictly(built(ids), QUERIES, right, seeds=1),
    "tune": lambda right, ids: hubless.tune(QUERIES, TARGETS, right, ids=ids, corrections=["csls"], folds=2, **QUICK),
    "abstain": lambda right, ids: abstain(QUERIES, TARGETS, right, "csls", ids=ids, **QUICK),
    "abstain a collection": lambda right, ids: abstain_collection(built(ids), QUERIES, right),
    "diagnose": lambda right, ids: hubless.diagnose(
        TARGETS, BANK, metric="cosine", ids=ids, queries=QUERIES, relevant=right
    ),
    "report": lambda right, ids: make_report(
        open_gallery(TARGETS, ids=ids), BANK, queries=QUERIES, relevant=right, seeds=1
    ),
    "fit": lambda right, ids: built(ids).fit(QUERIES, TARGETS, ids=ids, relevant=right),
    "calibrate": lambda right, ids: built(ids).calibrate(QUERIES, right),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_row_numbers_are_refused_wherever_targets_have_texts_for_ids(taker):
    with pytest.raises(InputError, match=r"^relevant, entry 0: .*if these are row numbers, write the ids of these ro"):
        TAKERS[taker](np.arange(N), TEXTS)


def test_a_file_of_ids_measures_the_same_in_all_that_measure(tmp_path):
    ids, right = tmp_path / "ids.npy", tmp_path / "right.npy"
    np.save(ids, ORDER)
    np.save(right, ORDER)  # query i belongs to target i; as row numbers these would nearly all be wrong
    index = built(ids)
    strict = {"ids": ids, **QUICK}
    measured = {
        "evaluate": hubless.evaluate(index, QUERIES, right).raw["recall_at_1"],
        "compare": hubless.compare(QUERIES, TARGETS, right, ["csls"], query_bank=BANK, **strict)
        .row("none")
        .quality["recall_at_1"],
        "tune": hubless.tune(QUERIES, TARGETS, right, query_bank=BANK, corrections=["csls"], folds=2, **strict)
        .candidates[0]
        .recall_at_1,
        "abstain": abstain(QUERIES, TARGETS, right, "csls", query_bank=BANK, **strict).answers_right[0],
        "a collection": abstain_collection(index, QUERIES, right).answers_right[0],
    }
    assert measured == pytest.approx(dict.fromkeys(measured, FIRST))
    diagnosed = hubless.diagnose(TARGETS, BANK, metric="cosine", ids=ids, queries=QUERIES, relevant=right)
    rows = hubless.diagnose(TARGETS, BANK, metric="cosine", queries=QUERIES, relevant=np.arange(N))
    assert diagnosed.verdict == rows.verdict


def test_a_file_of_ids_calibrates_as_row_numbers_do_where_there_are_no_ids(tmp_path):
    right = tmp_path / "right.txt"
    right.write_text("\n".join(map(str, ORDER)))
    confidences = []
    for ids, labels in ((ORDER, right), (None, np.arange(N))):
        index = built(ids)
        index.calibrate(QUERIES, labels)
        hubless.build(tmp_path / "c", "c", TARGETS, QUERIES, ids=ids, relevant=labels, progress=False)
        hubless.refit(tmp_path / "c", "c", QUERIES, relevant=labels)
        opened = hubless.open(tmp_path / "c", "c")
        assert opened.manifest.confidence.calibrated
        confidences.append([each.query(QUERIES).confidence for each in (index, opened)])
    np.testing.assert_allclose(confidences[0], confidences[1], rtol=1e-6)
    assert np.mean(confidences[0][0]) == pytest.approx(FIRST, abs=0.3)


def test_ids_in_the_files_of_targets_and_queries_count(tmp_path):
    def write(name, vectors, ids):
        lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
        pq.write_table(pa.table({"id": ids, "vector": lists}), tmp_path / name)
        return tmp_path / name

    asked, targets = write("q.parquet", QUERIES, [f"q{row}" for row in range(N)]), write("t.parquet", TARGETS, TEXTS)
    (tmp_path / "qrels.json").write_text(
        json.dumps({f"q{row}": {TEXTS[row]: 1, TEXTS[row - 1]: 0} for row in range(N)})
    )
    found = hubless.compare(asked, targets, tmp_path / "qrels.json", ["csls"], query_bank=BANK, metric="cosine")
    assert found.row("none").quality["recall_at_1"] == pytest.approx(FIRST)
    with pytest.raises(InputError, match="write the ids of these rows"):
        hubless.compare(asked, targets, np.arange(N), ["csls"], query_bank=BANK, metric="cosine")


def test_ids_count_after_targets_were_removed():
    index = built(None)
    index.remove([0, 1, 2])
    found = hubless.evaluate(index, QUERIES[3:], np.arange(3, N))
    kept = QUERIES[3:] @ TARGETS[3:].T
    assert found.raw["recall_at_1"] == pytest.approx(np.mean(kept.argmax(axis=1) == np.arange(N - 3)))
