import numpy as np
import pytest
from support.problems import with_hubs

import hubless

PROBLEM = with_hubs(targets=120, bank=200)
BANK, TARGETS = PROBLEM.bank, PROBLEM.targets
COUNTS = np.random.default_rng(1).integers(1, 50, 120)
PAYLOAD = {"clicks": COUNTS, "price": COUNTS / 7, "name": [f"n{row}" for row in range(120)]}


def fit(**options):
    return hubless.Index(metric="dot").fit(BANK, TARGETS, **options)


def build(catalog, **options):
    hubless.build(catalog, "c", TARGETS, BANK, metric="dot", **options)
    return hubless.open(catalog, "c")


def test_array_file_and_column_give_the_same_offsets_as_the_function_on_arrays(tmp_path):
    np.save(tmp_path / "counts.npy", COUNTS)
    expected = hubless.offsets(TARGETS, BANK, metric="dot", target_prior=COUNTS)
    assert np.abs(expected - hubless.offsets(TARGETS, BANK, metric="dot")).max() > 0.01
    for index in (
        fit(target_prior=COUNTS),
        fit(payload=PAYLOAD, target_prior="clicks"),
        build(tmp_path / "catalog", target_prior=tmp_path / "counts.npy"),
        build(tmp_path / "catalog", payload=PAYLOAD, target_prior="clicks"),
    ):
        np.testing.assert_allclose(index.offsets, expected, rtol=0, atol=1e-6)


def test_manifest_tells_the_prior_and_its_column_or_its_file(tmp_path):
    np.save(tmp_path / "counts.npy", COUNTS)
    record = build(tmp_path, payload=PAYLOAD, target_prior="clicks").manifest.target_prior
    assert (record.column, record.median) == ("clicks", np.median(COUNTS))
    assert (record.smallest, record.largest) == (COUNTS.min(), COUNTS.max())
    of_file = build(tmp_path, target_prior=str(tmp_path / "counts.npy")).manifest
    assert of_file.target_prior.column is None
    assert of_file.provenance.inputs["target_prior"].name == "counts.npy"
    assert build(tmp_path).manifest.target_prior is None


class TestLaterTargets:
    def test_added_target_takes_the_prior_of_its_column(self):
        index = fit(payload=PAYLOAD, target_prior="clicks")
        clicks = [int(COUNTS[0]), int(2 * COUNTS[0]), None, 0, -3]
        index.add(TARGETS[[0] * 5], ids=range(200, 205), payload=[{"clicks": value} for value in clicks])
        known, twice, *unknown = index.offsets[-5:]
        correction = index.correction()
        details = correction.details
        assert known == pytest.approx(index.offsets[0], abs=1e-6)
        assert twice - known == pytest.approx(-details["shrinkage"] * details["temperature"] * np.log(2), abs=1e-6)
        assert unknown == pytest.approx([correction.offsets(TARGETS[:1])[0]] * 3)
