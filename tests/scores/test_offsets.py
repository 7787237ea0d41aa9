import ast
import importlib
from pathlib import Path

import numpy as np
import pytest
from support.hubs import unit
from support.problems import with_hubs

import hubless
from hubless.errors import InputError

PROBLEM = with_hubs(targets=80, bank=60, target_bank=40, queries=30, dim=12, seed=11)


TARGETS, BANK, QUERIES = unit(PROBLEM.targets), unit(PROBLEM.bank), unit(PROBLEM.queries)
RELEVANT = (QUERIES @ TARGETS.T).argmax(axis=1)


class TestOffsets:
    def test_they_are_centred_and_those_of_the_formula(self):
        found = hubless.offsets(PROBLEM.targets, PROBLEM.bank, metric="cosine", correction="csls", parameters={"k": 5})
        means = np.sort(TARGETS @ BANK.T, axis=1)[:, -5:].mean(axis=1) / 2
        np.testing.assert_allclose(found, means - means.mean(), atol=1e-6)
        assert found.dtype == np.float32

    def test_metric_dot_takes_lengths_into_account(self):
        found = hubless.offsets(PROBLEM.targets, PROBLEM.bank, metric="dot", correction="dn")
        means = PROBLEM.targets @ PROBLEM.bank.mean(axis=0) / 2
        np.testing.assert_allclose(found, means - means.mean(), atol=1e-5)


class TestAugmented:
    @pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
    def test_inner_product_is_the_corrected_score(self, strength):
        h = hubless.offsets(TARGETS, BANK, metric="cosine")
        scores = hubless.augment_queries(QUERIES, strength) @ hubless.augment_targets(TARGETS, h).T
        np.testing.assert_allclose(scores, QUERIES @ TARGETS.T - strength * h, atol=1e-6)

    def test_metric_brings_vectors_to_length_1(self):
        h = hubless.offsets(PROBLEM.targets, PROBLEM.bank, metric="cosine")
        targets = hubless.augment_targets(PROBLEM.targets, h, metric="cosine")
        queries = hubless.augment_queries(PROBLEM.queries, metric="cosine")
        np.testing.assert_allclose(queries @ targets.T, QUERIES @ TARGETS.T - h, atol=1e-6)

    def test_offsets_survive_float16(self):
        h = hubless.offsets(TARGETS, BANK, metric="cosine")
        targets = hubless.augment_targets(TARGETS, h).astype(np.float16).astype(np.float32)
        dim = TARGETS.shape[1]
        np.testing.assert_allclose(-targets[:, dim:].sum(axis=1), h, atol=1e-6)


@pytest.fixture(scope="module")
def index():
    return hubless.Index("auto", "cosine").fit(PROBLEM.bank, PROBLEM.targets, payload={"n": list(range(80))})


class TestLab:
    def test_evaluate_measures_what_was_added(self, index):
        halved = hubless.Index("auto", "cosine").fit(PROBLEM.bank, PROBLEM.targets[:40])
        halved.add(PROBLEM.targets[40:])
        report = hubless.evaluate(halved, PROBLEM.queries, RELEVANT)
        assert report.targets == 80
        assert report.raw["recall_at_1"] == 1.0

    @pytest.mark.parametrize(
        "ask",
        [
            lambda: hubless.compare(QUERIES, TARGETS, RELEVANT),
            lambda: hubless.tune(QUERIES, TARGETS, RELEVANT),
            lambda: hubless.diagnose(TARGETS, BANK),
            lambda: hubless.scan(TARGETS, QUERIES),
        ],
        ids=["compare", "tune", "diagnose", "scan"],
    )
    def test_metric_has_to_be_given(self, ask):
        with pytest.raises(InputError, match=r"^metric: expected"):
            ask()

    @pytest.mark.parametrize("option", [{"metric": "dot"}, {"ids": [1]}, {"payload": [{}]}])
    def test_index_brings_its_own(self, index, option):
        with pytest.raises(InputError, match="expected none, as the index has its own, got one"):
            hubless.diagnose(index, PROBLEM.bank, **option)


def test_public_names_are_what_an_editor_and_a_type_checker_read():
    (block,) = (node for node in ast.parse(Path(hubless.__file__).read_text()).body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    read = {(each.asname or each.name, node.module, each.name) for node in imports for each in node.names}
    read = {("open" if name == "open_index" else name, module, attribute) for name, module, attribute in read}
    assert {name for name, _, _ in read} == set(hubless.__all__)
    for name, module, attribute in read:
        assert getattr(hubless, name) is getattr(importlib.import_module(module), attribute)
