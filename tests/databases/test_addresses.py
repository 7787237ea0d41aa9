"""Addresses are known without `hubless-databases`, which reads and corrects what is there."""

import re

import numpy as np
import pytest
from support import jobs

import hubless
from hubless import errors
from hubless.jobs.databases import DATABASE_SCHEMES, is_database

BROUGHT = f"{{}}://… is of hubless-databases, which is not installed: `{errors.how_to_install('databases')}` brings it"


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    monkeypatch.setattr(errors, "entry_points", lambda **_: ())


@pytest.mark.parametrize("scheme", DATABASE_SCHEMES)
def test_without_the_package_diagnose_says_which_line_brings_it(scheme, run, tmp_path):
    np.save(tmp_path / "bank.npy", np.eye(3, dtype=np.float32))
    ended = run("diagnose", f"{scheme}://me:secret@localhost/a/things", "--query-bank", tmp_path / "bank.npy")
    assert ended.code == 1
    assert BROUGHT.format(scheme) in ended.err
    assert "secret" not in ended.err


@pytest.mark.parametrize("key", ["targets", "publish"])
def test_without_the_package_a_job_says_which_line_brings_it(key, tmp_path):
    job = jobs.write(tmp_path, **{key: "qdrant://localhost/things"})
    with pytest.raises(hubless.HublessError, match=re.escape(BROUGHT.format("qdrant"))):
        hubless.reindex(job, catalog=tmp_path / "catalog")
    assert not (tmp_path / "catalog" / jobs.NAME / "CURRENT").exists()


@pytest.mark.parametrize(
    ("given", "is_one"),
    [
        *((f"{scheme}://h/t", True) for scheme in (*DATABASE_SCHEMES, "QDRANT")),
        *((given, False) for given in ("oracle://h/t", "qdrant:h/t", "qdrant", "a/qdrant://h/t", "", None)),
    ],
)
def test_addresses_of_databases_are_those_of_their_schemes(given, is_one):
    assert is_database(given) is is_one
