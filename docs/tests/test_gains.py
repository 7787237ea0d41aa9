"""What the README says of the kept measurements, and the pictures of them."""

import json
from pathlib import Path

import pytest
from benchmarks import confidence, dimensions
from benchmarks.gains import IMAGES, KEPT, draw, draw_demo, mean

ROOT = Path(__file__).parents[2]
MEASURED = json.loads(KEPT.read_text("utf-8"))
SETS = sorted(MEASURED["sets"], key=lambda found: -mean(found, "auto"))


def page(name):
    return " ".join((ROOT / name).read_text("utf-8").split())


def test_calibration_is_within_its_goal():
    sets = json.loads(confidence.KEPT.read_text("utf-8"))
    mean = confidence.with_mean(sets)[-1]
    assert max(mean["200 labels"]["error"], mean["200 labels"]["of one split"]) <= 0.06
    assert all(found["200 labels"]["error"] <= 0.1 for found in sets)


def test_half_the_dimensions_are_better_than_raw_search_in_all_of_them():
    sets = json.loads(dimensions.KEPT.read_text("utf-8"))["sets"]
    assert all(found["figures"]["½"][1] > found["figures"]["all"][0] for found in sets)
    assert "on all six sets below, corrected search in half the dimensions is better than raw" in page("README.md")


@pytest.mark.parametrize(
    ("name", "drawn", "measured"), [("gains", draw, SETS), ("k-occurrence", draw_demo, MEASURED["demo"])]
)
def test_picture_is_small_and_drawn_from_the_measurements(tmp_path, name, drawn, measured):
    drawn(measured, tmp_path / "picture.svg")
    kept = (IMAGES / f"{name}.svg").read_text("utf-8")
    assert (tmp_path / "picture.svg").read_text("utf-8") == kept
    assert len(kept) < 100_000


def test_screenshots_are_small():
    shots = sorted(IMAGES.glob("*.png"))
    assert len(shots) >= 5
    assert all(shot.stat().st_size < 300_000 for shot in shots)
