"""A catalog that version 0.1.0 wrote opens, and answers as it did there."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import hubless

ARCHIVE = Path(__file__).parents[2] / "golden" / "catalog_0_1_0.zip"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder of the catalog, and what 0.1.0 answered."""
    folder = tmp_path_factory.mktemp("written")
    shutil.unpack_archive(ARCHIVE, folder)
    with np.load(folder / "answers.npz") as answers:
        return folder / "catalog", dict(answers)


@pytest.mark.parametrize("name", ["flat", "gated", "rescored", "codes", "graph"])
def test_bundle_of_0_1_0_answers_as_before(written, name):
    catalog, answers = written
    opened = hubless.open(catalog, name)
    opened.check_canaries()
    found = opened.query(answers["queries"], limit=5)
    np.testing.assert_array_equal(found.rows, answers[f"{name}_rows"])
    np.testing.assert_allclose(found.scores, answers[f"{name}_scores"], atol=1e-5)


def test_encoder_payload_and_alias_of_0_1_0_are_read(written):
    catalog, answers = written
    opened = hubless.open(catalog, hubless.Catalog(catalog).resolve("photos"))
    texts = opened.encode(["amber birch", "cedar"])
    np.testing.assert_array_equal(opened.query(texts, limit=5).rows, answers["text_rows"])
    odd = opened.query(answers["queries"], limit=5, filter={"field": "tag", "eq": "odd"})
    np.testing.assert_array_equal(odd.rows, answers["filtered_rows"])


def test_version_is_built_beside_one_of_0_1_0_and_rolled_back_to_it(written, tmp_path):
    shutil.copytree(written[0], tmp_path / "catalog")
    catalog = hubless.Catalog(tmp_path / "catalog")
    old = catalog.current("flat")
    rows = np.random.default_rng(1).normal(size=(60, 16)).astype(np.float32)
    hubless.build(catalog.path, "flat", rows, -rows, progress=False)
    assert catalog.current("flat") != old
    assert catalog.rollback("flat") == old
    assert hubless.open(catalog.path, "flat").version == old
