"""The table of the README is what the kept measurements give, and so is its figure."""

import json
from pathlib import Path

from benchmarks.gains import IMAGES, draw, markdown, mean

ROOT = Path(__file__).parents[2]


def kept():
    return sorted(json.loads((IMAGES / "gains.json").read_text()), key=lambda found: -mean(found, "auto"))


def test_table_of_the_readme_is_that_of_the_measurements():
    readme = (ROOT / "README.md").read_text("utf-8")
    *table, _, summary = markdown(kept())
    assert "\n".join(table) in readme
    shares = [word for word in summary.split() if word.endswith(("%", "%,"))]
    for share in shares:
        assert share.rstrip("%,") + " %" in readme


def test_figure_is_small_and_shows_each_set(tmp_path):
    draw(kept(), tmp_path / "gains.svg")
    drawn = (tmp_path / "gains.svg").read_text()
    assert drawn.count("<svg") == 1
    assert len((IMAGES / "gains.svg").read_bytes()) < 100_000


def test_screenshots_are_small():
    shots = sorted(IMAGES.glob("*.png"))
    assert len(shots) >= 5
    assert all(shot.stat().st_size < 300_000 for shot in shots)
