import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLOTS = sorted((ROOT / "lab" / "docs" / "performance").glob("*.png"))
IMPORT_ALL = """
import importlib, pkgutil, benchmarks
for module in pkgutil.iter_modules(benchmarks.__path__):
    if module.name != "__main__":
        importlib.import_module(f"benchmarks.{module.name}")
"""


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_page_is_what_the_results_that_are_kept_make():
    checked = run("-m", "benchmarks.report", "--check")
    assert checked.returncode == 0, checked.stderr


def test_every_benchmark_can_be_imported():
    imported = run("-c", IMPORT_ALL)
    assert imported.returncode == 0, imported.stderr


@pytest.mark.parametrize("plot", PLOTS, ids=lambda path: path.stem)
def test_plots_are_small(plot):
    assert plot.stat().st_size < 100_000
    assert plot.with_suffix(".json").is_file()
