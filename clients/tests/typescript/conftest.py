"""The TypeScript client, built, and a real server for it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support import catalogs
from support.serving import serving_catalog

import hubless

HOME = Path(__file__).parents[2] / "typescript"
KEY = "key-of-the-typescript-tests"


def pytest_collection_modifyitems(config, items):
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    if not (HOME / "node_modules").exists() or not shutil.which("node"):
        # CI has Node and must not pass by skipping
        assert not os.environ.get("CI"), "CI needs Node 20 or newer: see `make node`"
        for item in here:
            item.add_marker(pytest.mark.skip("needs Node 20 or newer with npm, then `make typescript`"))


@pytest.fixture(scope="session")
def node():
    """Run a command of Node in the client's folder, and return what it prints."""

    def run(*command, cwd=HOME, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NODE_")}
        done = subprocess.run(
            command, cwd=cwd, env=environment | variables, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def built(node):
    node("npm", "run", "--silent", "build")
    return HOME


@pytest.fixture(scope="session")
def key():
    return KEY


@pytest.fixture(scope="session")
def url(tmp_path_factory):
    """A server with the collections of support/catalogs.py, and `written`, which may change."""
    catalog = catalogs.build(tmp_path_factory.mktemp("catalog"))
    data = catalogs.words()
    payload = catalogs.payload()
    hubless.build(catalog, "written", data.targets, data.query_bank, ids=data.ids, payload=payload, progress=False)
    sample = tmp_path_factory.mktemp("sample")
    with serving_catalog(catalog, admin_keys=KEY, cors_origins="*", query_sample=sample) as address:
        yield address
