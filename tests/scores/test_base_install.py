"""What the packages of the base install suffice for: all others raise where they are imported."""

import subprocess
import sys

import pytest

from hubless.errors import how_to_install

ALONE = """
import sys

class OnlyTheBase:
    NAMES = {"hubless", "numpy", "faiss", "pyarrow", "threadpoolctl", "orjson", "packaging", *sys.stdlib_module_names}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in self.NAMES and not name.startswith("_"):
            raise ModuleNotFoundError(f"{name} is no part of the base install", name=name)

sys.meta_path.insert(0, OnlyTheBase())

import hubless, numpy as np
rng = np.random.default_rng(0)
targets, bank, live = (rng.normal(size=(count, 12)).astype("float32") for count in (700, 150, 60))
log = [(rng.permutation(40)[:12].tolist(), np.sort(rng.normal(size=12))[::-1].tolist()) for _ in range(60)]
"""
CALLS = {
    "auto": "hubless.offsets(targets, bank, metric='cosine')",
    "a target bank": "hubless.offsets(targets, bank, metric='dot', target_bank=live)",
    "a bank index": "hubless.offsets(targets, rng.normal(size=(900, 12)), metric='cosine', correction='nnn', "
    "parameters={'k': 5, 'bank_index': 'ivf'})",
    "copies": "hubless.offsets(targets, np.repeat(bank, rng.integers(1, 40, 150), axis=0), metric='euclidean')",
    "a prior": "hubless.offsets(targets, bank, metric='cosine', target_prior=rng.random(700) + 1)",
    "augmented": "hubless.augment_targets(targets, np.zeros(700), 'cosine') @ "
    "hubless.augment_queries(live, metric='cosine').T",
    "strength": "hubless.choose_strength(live, targets, np.zeros(700), metric='cosine').strength",
    "cut": "hubless.guaranteed_cut(rng.random(300), np.ones(300, bool)).threshold",
    "scores": "hubless.ScoreCorrection.fit(log).values",
    "a file": "hubless.ScoreCorrection.fit(log).save('s.arrow') or hubless.ScoreCorrection.load('s.arrow').values",
    "fused": "hubless.fuse(log[:2]).scores",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_base_install_suffices(call, tmp_path):
    code = f"{ALONE}\nfound = np.asarray({call})\nassert found.size and np.isfinite(found).all()"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_measure_that_only_the_lab_needs_names_it():
    code = f"{ALONE}\nfrom hubless.measures import coverage, kolmogorov_smirnov"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 1
    assert how_to_install("lab") in ended.stderr.splitlines()[-1]
