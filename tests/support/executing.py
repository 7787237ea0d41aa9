"""Builds on an executor, and work for one that goes wrong."""

import pickle
import time

import numpy as np
from support import small
from support.problems import with_hubs

import hubless
from hubless.errors import InputError
from hubless.store.catalog import Catalog

SHARD_ROWS = 400
TARGETS = 900
"""Three shards, the last one small."""


def vectors(seed=0):
    """Targets, a query bank and a target bank, with hubs among the targets."""
    problem = with_hubs(TARGETS, 300, 700, seed=seed)
    return problem.targets, problem.bank, problem.target_bank


def offsets_built(catalog, executor, correction, parameters=None, **given):
    """The offsets of a version that an executor built, and its manifest."""
    targets, bank, extra = vectors()
    banks = {"target_bank": extra} if correction in ("dbsn", "dual_is") else {}
    given = {"correction": correction, "parameters": parameters, "executor": executor} | banks | given
    manifest = hubless.build(catalog, "all", targets, bank, index="flat", **given)
    folder = Catalog(catalog).folder("all", manifest.version)
    return np.load(small.path_of(folder, "offsets.npy")), manifest, folder


def sums(shard, along):
    """Work of a pass."""
    return float(sum(block.sum(dtype=np.float64) for block in shard.blocks(1000))) + float(along.sum())


class InShards:
    """An executor that stands in for Ray: it pickles work and tasks as for another process, and does them here."""

    def __init__(self, name="ray"):
        self.name = name

    def map(self, work, tasks):
        for task in tasks:
            sent, rows = pickle.loads(pickle.dumps((work, task)))  # noqa: S301
            yield sent(*rows)

    def close(self):
        pass


def refuses(shard, along):
    """Work that finds a mistake of the user."""
    raise InputError("targets", "finite numbers", f"NaN in row {shard.start}")


def slow_sums(shard, along):
    """The sums, slow enough that other shards wait."""
    time.sleep(0.3)
    return sums(shard, along)
