"""Offsets that stand alone, and that no fit of an honest bank has."""

import numpy as np
import pytest
from support.hubs import with_victim
from support.problems import with_hubs

import hubless
from hubless.corrections.alone import find_alone

USUAL = np.arange(100, dtype=np.float32)


def test_offset_three_times_as_far_above_the_median_as_the_usual_ones_is_held_back():
    offsets = np.append(USUAL, [150, 220]).astype(np.float32)
    found = find_alone(offsets)
    assert found.rows(offsets).tolist() == [101]
    assert found.held_back(offsets)[101] == found.usual == pytest.approx(np.quantile(offsets, 0.95))
    assert found.held_back(offsets)[:101].tolist() == offsets[:101].tolist()


@pytest.mark.parametrize("offsets", [[], [0.0] * 50, [1.0, np.nan], [2.0] * 99 + [9.0]])
def test_nothing_stands_alone_where_nothing_can_be_compared(offsets):
    assert find_alone(np.array(offsets, np.float32)) is None


@pytest.mark.parametrize("correction", ["auto", "csls", "nnn", "is", "sn"])
def test_no_offset_of_an_honest_bank_stands_alone(correction):
    problem = with_hubs(targets=300, bank=200, dim=24, seed=2)
    offsets = hubless.offsets(problem.targets, problem.bank, metric="cosine", correction=correction)
    assert find_alone(offsets).rows(offsets).tolist() == []


def test_refit_holds_back_and_later_versions_keep_it(tmp_path):
    targets, honest, _, poison = with_victim(5)
    hubless.build(tmp_path, "c", targets, honest, correction="sn", progress=False)
    made = hubless.refit(tmp_path, "c", np.concatenate([honest[:200], poison[:60]]), progress=False)
    assert made.bank.held_back == (5,)
    assert any("stands alone: 5." in note for note in made.notes)
    offsets = hubless.open(tmp_path, "c").offsets
    assert offsets[5] < np.quantile(offsets, 0.96)
    assert abs(float(offsets.mean())) < 1e-6
    index = hubless.open(tmp_path, "c")
    index.add(targets[[5]], [400])
    index.save(tmp_path, "c")
    after = hubless.open(tmp_path, "c")
    assert after.manifest.bank.held_back == (5,)
    assert after.offsets[-1] == pytest.approx(after.offsets[5], abs=1e-5)
