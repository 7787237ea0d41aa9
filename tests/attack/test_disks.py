"""Disks that are full or read-only: errors in words, nothing half written, and what is served is served on."""

import os
import shutil
from pathlib import Path
from time import sleep

import httpx
import pytest
from support import small
from support.disks import disk, filled, remount
from support.server_process import served

pytestmark = pytest.mark.slow  # it starts and ends servers for a minute; `make attack` runs it

QUERY = {"vector": small.query_bank()[0].tolist(), "with": ["payload", "vector"]}
NOBODY = 65534
# what is imported late is imported before: a user without rights may not be able to read this Python
WITHOUT_RIGHTS = f"""
import os, sys
import hubless, hubless.cli, uvicorn, uvloop, hubless_service.app, hubless_service.start
import faiss, pyarrow.dataset, scipy.special, scipy.stats
hubless.open(sys.argv[sys.argv.index("--catalog") + 1], "photos").check_canaries()
if os.geteuid() == 0:  # root may write everywhere
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
"""


@pytest.fixture
def small_disk(tmp_path):
    with disk(tmp_path / "disk", 64) as path:
        yield path


def change(server, version):
    """Ask for all that changes a catalog; the codes of the answers, None for those that did it."""
    asked = [
        ("POST", f"collections/photos/versions/{version}/activate", None),
        ("PUT", "aliases/pictures", {"collection": "photos"}),
    ]
    found = [httpx.request(method, f"{server.url}/v1/{path}", json=body, timeout=60) for method, path, body in asked]
    return [answer.json().get("code") for answer in found]


def ask(server, times=20):
    return {
        httpx.post(f"{server.url}/v1/collections/photos/query", json=QUERY, timeout=60).status_code
        for _ in range(times)
    }


def test_server_on_a_full_or_read_only_disk_serves_on_and_changes_when_there_is_room_again(small_disk):
    catalog = small_disk / "catalog"
    first, second = (small.build_full(catalog, data=data).version for data in (0, 1))
    with served(catalog, poll_seconds=0.1) as server:
        with filled(catalog, 0):
            assert change(server, first) == ["storage", "storage"]
            assert ask(server) == {200}
        remount(small_disk, "ro")
        assert change(server, first) == ["storage", "storage"]
        assert ask(server) == {200}
        assert httpx.get(f"{server.url}/readyz").json()["collections"]["photos"]["version"] == second
        remount(small_disk, "rw")
        assert change(server, first) == [None, None]
        while httpx.get(f"{server.url}/v1/collections/pictures").json()["version"] != first:
            sleep(0.01)
        assert ask(server) == {200}
    assert not [line for line in server.log if "Traceback" in line]
    with filled(catalog, 0), served(catalog) as server:
        assert ask(server) == {200}
    remount(small_disk, "ro")
    with served(catalog) as server:
        assert ask(server) == {200}


@pytest.fixture
def readable(tmp_path_factory):
    """A catalog that everybody can read, and its owner alone can write."""
    root = Path("/var/tmp") / f"hubless-{os.getpid()}"  # noqa: S108  # a user without rights may not see ours
    small.build_full(root / "catalog")
    small.build_full(root / "catalog", data=1)
    for entry in (root, *root.rglob("*")):
        entry.chmod(0o555 if entry.is_dir() else 0o444)
    yield root / "catalog"
    for entry in (root, *root.rglob("*")):
        entry.chmod(0o755)
    shutil.rmtree(root)


def test_server_of_a_user_without_rights_serves_and_says_that_it_may_not_change(readable):
    version = small.entries(readable)[0]
    with served(readable, before=WITHOUT_RIGHTS, poll_seconds=0.1) as server:
        assert change(server, version) == ["storage", "storage"]
        assert ask(server) == {200}
    assert not [line for line in server.log if "Traceback" in line]
