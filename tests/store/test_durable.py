"""What has to be on the disk, in which order, so that a power cut takes nothing that was answered."""

import os
from pathlib import Path

from support import small

from hubless.store.catalog import CURRENT, VERSIONS


def test_all_of_a_version_is_synced_before_it_is_current(tmp_path, monkeypatch):
    synced, fsync = [], os.fsync

    def noted(descriptor):
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    manifest = small.build_full(tmp_path)
    home = tmp_path / manifest.collection
    before = synced[: synced.index(home / f".{CURRENT}.new")]
    assert synced[len(before) + 1 :].count(home) > 0
    assert [name for name in manifest.files if not any(str(path).endswith(f"/{name}") for path in before)] == []
    assert {home / VERSIONS, *(home / kind for kind in ("segments", "fits"))} <= {*before}
