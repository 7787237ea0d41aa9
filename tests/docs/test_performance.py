import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLOTS = sorted((ROOT / "docs" / "performance").glob("*.png"))


def test_page_is_what_the_results_that_are_kept_make():
    checked = subprocess.run(
        [sys.executable, "-m", "benchmarks.report", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("plot", PLOTS, ids=lambda path: path.stem)
def test_plots_are_small(plot):
    assert plot.stat().st_size < 100_000
    assert plot.with_suffix(".json").is_file()
