"""What a stranger has who installs the wheels: the base alone, collections, and everything; by pip and its index."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
MOST_PACKAGES = 8
"""That the base install brings, hubless among them."""
BASE = """
import numpy, hubless
rng = numpy.random.default_rng(0)
targets, bank = rng.normal(size=(50, 8)), rng.normal(size=(40, 8))
found = hubless.offsets(targets, bank, metric="dot")
assert found.shape == (50,)
stored, asked = hubless.augment_targets(targets, found, "dot"), hubless.augment_queries(bank, metric="dot")
assert (asked @ stored.T).shape == (40, 50)
assert 0 <= hubless.choose_strength(bank, targets, found, metric="dot").strength <= 1
hubless.ScoreCorrection, hubless.fuse, hubless.guaranteed_cut, hubless.CORRECTIONS["csls"]
"""


@pytest.fixture(scope="module")
def wheels():
    """The folder that `make wheels` fills."""
    command = ["make", "--assume-old", ".venv/.ready", "wheels"]  # it installs nothing while tests run
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return ROOT / "dist"


def install(home, wheels, *wanted):
    """Install into an environment, made if it is new. Return the names of what is there."""
    if not home.exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
    pip = [home / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--find-links", wheels, *wanted], check=True)
    listed = subprocess.run([*pip, "list", "--format", "json"], check=True, capture_output=True, text=True).stdout
    return {each["name"] for each in json.loads(listed)} - {"pip", "setuptools", "wheel"}


def run(home, program, *words, cwd=None):
    return subprocess.run([home / "bin" / program, *words], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_base_install_is_small_and_makes_offsets_and_collections_add_the_command(wheels, tmp_path):
    home = tmp_path / "environment"
    there = install(home, wheels, "hubless")
    assert "hubless" in there
    assert len(there) <= MOST_PACKAGES, there
    ended = run(home, "python", "-W", "error", "-c", BASE)
    assert ended.returncode == 0, ended.stderr
    ended = run(home, "hubless", "--help")
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)
    assert ended.stderr.endswith("`pip install 'hubless[collections]'` brings it\n")
    install(home, wheels, "hubless[collections]")
    for name, rows in (("t", 60), ("q", 50)):
        np.save(tmp_path / f"{name}.npy", np.random.default_rng(rows).normal(size=(rows, 8)))
    ended = run(home, "hubless", "diagnose", "--targets", "t.npy", "--query-bank", "q.npy", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    ended = run(home, "hubless", "serve", "--catalog", tmp_path)
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert ended.stderr.endswith("`pip install 'hubless[serve]'` brings it\n")


@pytest.mark.slow
def test_all_is_every_ring_from_the_wheels_alone(wheels, tmp_path):
    home = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    report = tmp_path / "report.json"
    words = ["install", "--quiet", "--dry-run", "--report", report, "--find-links", wheels, "hubless[all]"]
    subprocess.run([home / "bin" / "python", "-m", "pip", *words], check=True)
    found = {
        each["metadata"]["name"]: each["download_info"]["url"] for each in json.loads(report.read_text())["install"]
    }
    ours = {name: url for name, url in found.items() if name.startswith("hubless")}
    wanted = {wheel.name.partition("-")[0].replace("_", "-") for wheel in wheels.glob("*.whl")} - {"hubless-client"}
    assert ours.keys() == wanted
    assert all(url.startswith("file:") for url in ours.values())
