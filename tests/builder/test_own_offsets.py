"""Offsets that somebody brings: from a file, a table with ids, a payload column or an array."""

import json

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.problems import with_hubs
from support.serving import serving_catalog

import hubless
from hubless.errors import InputError

PROBLEM = with_hubs(targets=120, queries=60)
OWN = np.random.default_rng(3).normal(size=120).round(3)
IDS = [f"t{row}" for row in range(120)]
COLUMN = [{"own": float(value), "title": f"title {row}"} for row, value in enumerate(OWN)]


def build(catalog, correction="offsets", **options):
    given = {"metric": "dot", "index": "flat", "progress": False, "ids": IDS, **options}
    return hubless.build(catalog, "things", PROBLEM.targets, given.pop("bank", None), correction=correction, **given)


def ranked_by_hand(own, k=10):
    scores = PROBLEM.queries @ PROBLEM.targets.T - own.astype(np.float32)
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def opened(catalog):
    return hubless.open(catalog, "things")


def save(kind, folder):
    """Write the offsets in a form; tables have the ids in another order, and one that no target has."""
    order = np.random.default_rng(0).permutation(120)
    ids, values = [*(IDS[row] for row in order), "gone"], [*OWN[order], 9.0]
    path = folder / f"own.{kind}"
    if kind == "npy":
        np.save(path, OWN)
    elif kind == "txt":
        path.write_text("\n".join(map(str, OWN)))
    elif kind == "parquet":
        pq.write_table(pa.table({"id": ids, "offsets": values, "more": values}), path)
    elif kind == "ndjson":
        path.write_text("\n".join(json.dumps({"id": a, "own": b}) for a, b in zip(ids, values, strict=True)))
    else:
        between = "\t" if kind == "tsv" else ","
        rows = [("id", "own"), *zip(ids, values, strict=True)]
        path.write_text("\n".join(between.join(map(str, row)) for row in rows))
    return path


@pytest.mark.parametrize("kind", ["npy", "txt", "parquet", "csv", "tsv", "ndjson"])
def test_file_is_ranked_by_in_its_order_or_by_its_ids(kind, tmp_path):
    made = build(tmp_path / "c", f"offsets:{save(kind, tmp_path)}")
    assert made.own_offsets.column is None
    assert made.target_prior is None
    found = opened(tmp_path / "c")
    np.testing.assert_allclose(found.offsets, OWN - OWN.mean(), atol=1e-6)
    np.testing.assert_array_equal(found.query(PROBLEM.queries, 10).rows, ranked_by_hand(OWN))


def test_offsets_are_measured_where_there_is_a_bank(tmp_path):
    made = build(tmp_path, offsets=OWN, bank=PROBLEM.bank)
    assert made.bank.queries == 150
    assert made.measured.hubness_corrected != made.measured.hubness_raw
    assert opened(tmp_path).query(PROBLEM.queries, 1).scores.dtype == np.float32


def test_index_takes_an_array_and_a_column_brings_offsets_of_later_targets():
    index = hubless.Index(correction="offsets", metric="dot")
    index.fit(None, PROBLEM.targets[:100], ids=IDS[:100], payload=COLUMN[:100], offsets="own")
    index.add(PROBLEM.targets[100:], ids=IDS[100:], payload=COLUMN[100:])
    np.testing.assert_allclose(index.offsets, OWN - OWN[:100].mean(), atol=1e-6)
    np.testing.assert_array_equal(index.query(PROBLEM.queries, 10).rows, ranked_by_hand(OWN))
    index.add(PROBLEM.targets[:1], ids=["unknown"], payload=[{"title": "no offset"}])
    assert index.offsets[-1] == pytest.approx(np.median(OWN[:100]) - OWN[:100].mean(), abs=1e-6)
    array = hubless.Index(correction="offsets", metric="dot").fit(None, PROBLEM.targets, offsets=OWN.tolist())
    np.testing.assert_array_equal(array.query(PROBLEM.queries, 10).rows, ranked_by_hand(OWN))


def test_offsets_of_another_unit_are_warned_of(tmp_path, caplog):
    made = build(tmp_path, offsets=OWN, metric="cosine")
    assert np.ptp(OWN) > 2
    assert "similarities by 2 at most: offsets alone decide the ranking" in caplog.text
    assert "offsets alone decide the ranking" in " ".join(made.notes)
    caplog.clear()
    small = build(tmp_path, offsets=OWN / 10, metric="cosine", bank=PROBLEM.bank)
    assert "decide the ranking" not in " ".join([*small.notes, caplog.text])
    assert "count as the median" in " ".join(small.notes)


def test_bad_rows_that_are_left_out_take_their_offsets_along(tmp_path):
    targets = PROBLEM.targets.copy()
    targets[7] = np.nan
    made = hubless.build(
        tmp_path, "things", targets, correction="offsets", offsets=OWN, metric="dot", skip_bad_rows=True
    )
    kept = np.delete(OWN, 7)
    assert made.count == 119
    np.testing.assert_allclose(opened(tmp_path).offsets, kept - kept.mean(), atol=1e-6)


def test_fits_of_other_queries_are_refused_and_another_correction_is_the_way_back(tmp_path):
    build(tmp_path, offsets="own", payload=COLUMN)
    with pytest.raises(InputError, match=r"^correction: expected one that is fitted on queries, such as auto"):
        hubless.refit(tmp_path, "things", PROBLEM.bank)
    with serving_catalog(tmp_path) as url:
        at = f"{url}/v1/collections/things"
        bank = {"vectors": PROBLEM.bank.tolist()}
        refused = httpx.put(f"{at}/bank", json=bank)
        assert refused.status_code == 422, refused.text
        assert "one that is fitted on queries" in refused.text
        assert httpx.put(f"{at}/bank", json=bank | {"correction": "offsets"}).status_code == 422
        put = {"points": [{"id": "new", "vector": PROBLEM.targets[0].tolist(), "payload": {"own": -3.0}}]}
        assert httpx.put(f"{at}/points", json=put).status_code == 200
        hits = httpx.post(f"{at}/query", json={"vector": PROBLEM.targets[0].tolist(), "limit": 200}).json()["hits"]
        assert {hit["id"]: hit["offset"] for hit in hits}["new"] == pytest.approx(-3 - OWN.mean(), abs=1e-5)
    made = hubless.refit(tmp_path, "things", PROBLEM.bank, correction="csls")
    assert made.own_offsets is None
    assert made.correction.name == "csls"
