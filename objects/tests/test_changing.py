"""One machine flushes, compacts, pushes, prunes and rolls back, at any request of another one that pulls."""

import random

import numpy as np
import pyarrow as pa
import pytest
from support import small
from support.object_storage import ADDRESS

import hubless
from hubless.builder import lifecycle
from hubless.builder.pipeline import compaction
from hubless.search.transaction import open_written
from hubless.search.writes import Put, Remove
from hubless_objects.mirror import RemoteCatalog

NAME, TURNS = "photos", 12


def stored(catalog):
    """What the current version holds, and its number."""
    opened = small.check_complete(catalog)
    rows = np.arange(opened.count)
    held = zip(opened.ids(rows), opened.vectors(rows).round(6).tolist(), opened.offsets.tolist(), strict=True)
    return opened.manifest.version, sorted(held)


class Publisher:
    """The one machine, and what it has pushed."""

    def __init__(self, folder, rng):
        small.build(folder, ids=small.IDS, correction="csls", parameters={"k": 3}, index="hnsw")
        self.rng, self.remote = rng, RemoteCatalog(ADDRESS, folder)
        self.catalog = hubless.Catalog(folder)
        self.tag, self.number, self.working, self.pushed = None, 0, False, {}
        self.push()

    def change(self):
        """Change the collection here, and sometimes push it and clear up there."""
        self.working = True
        self.number += 1
        rows = small.vectors(2, self.number)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        ids = [f"new-{self.number}", self.rng.choice(small.IDS)]
        gone = Remove(pa.array([f"new-{self.rng.randrange(self.number)}"], pa.large_string()))
        small.record(self.catalog.log(NAME), Put(rows, pa.array(ids, pa.large_string()), None), gone)
        lifecycle.flush(self.catalog, open_written(self.catalog, NAME).current.parts)
        if self.rng.random() < 0.5:
            lifecycle.compact(self.catalog.path, NAME)
        self.push()
        if self.rng.random() < 0.5:
            self.remote.prune(NAME, self.rng.choice([1, 2]))
            self.catalog.prune(NAME, 1)
        if self.rng.random() < 0.2 and len(there := self.remote.version_ids(NAME)) > 1:
            self.remote.rollback(NAME, there[-2])
        self.working = False

    def push(self):
        version, held = stored(self.catalog.path)
        self.pushed[version] = held
        self.remote.push(NAME, version, self.remote.tag(NAME))


@pytest.mark.parametrize("seed", range(3))
def test_pull_gives_a_whole_version_whatever_another_changes_meanwhile(store, tmp_path, monkeypatch, seed):
    rng = random.Random(seed)  # noqa: S311
    monkeypatch.setattr(compaction, "BEHIND", 0)
    here, there = Publisher(tmp_path / "here", rng), RemoteCatalog(ADDRESS, tmp_path / "there")
    left = 0

    def change(method, path, query, respond, start_response):
        nonlocal left
        if not here.working and left:
            left -= 1
            if not left:
                here.change()

    store.faults.add(change)
    for _ in range(TURNS):
        left = rng.randrange(1, rng.choice([6, 30]))
        there.pull(NAME)
        version, held = stored(there.folder)
        assert held == here.pushed[version]
        if rng.random() < 0.3:
            there.catalog.prune(NAME, 1)
            assert stored(there.folder) == (version, held)
            assert not small.unnamed(there.folder / NAME)
    left = 0
    assert there.pull(NAME) == hubless.RemoteCatalog(ADDRESS).current(NAME)
    assert stored(there.folder)[1] == here.pushed[there.current(NAME)]


def test_version_before_a_merge_is_read_after_a_roll_back_at_the_address(store, tmp_path):
    made = small.merged(tmp_path / "here")
    here = RemoteCatalog(ADDRESS, tmp_path / "here")
    for version in made:
        here.push(NAME, version.version, here.tag(NAME))
        assert hubless.open(ADDRESS, NAME).count == version.count
    here.rollback(NAME)
    assert hubless.open(ADDRESS, NAME).count == made[0].count
