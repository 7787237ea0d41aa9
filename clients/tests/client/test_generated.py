"""Clients that two generators make from the contract work against a real server."""

import os
import subprocess
from pathlib import Path

import pytest
from support import catalogs

ROOT = Path(__file__).parents[3]
CONTRACT = ROOT / "docs" / "openapi.json"
PROGRAMS = ROOT / ".venv-generators" / "bin"
VECTOR = catalogs.words().query_bank[0].tolist()
PYTHON_CLIENT = f"""
import sys
from hubless_client import Client
from hubless_client.api.collections import count, get_collection
from hubless_client.api.query import query
from hubless_client.models import CountRequest, FilterCondition, ProblemAnswer, QueryRequest

client = Client(sys.argv[1])
answer = query.sync("words", client=client, body=QueryRequest(vector={VECTOR!r}, limit=3))
assert [hit.score - hit.similarity + hit.offset for hit in answer.hits] and len(answer.hits) == 3
assert get_collection.sync("words", client=client).dim == {catalogs.DIM}
some = CountRequest(filter_=FilterCondition(field="rank", gte=0))
assert 0 < count.sync("words", client=client, body=some).count
refused = query.sync("words", client=client, body=QueryRequest(vector=[1.0]))
assert isinstance(refused, ProblemAnswer) and refused.code == "dimension_mismatch"
"""
GENERATOR = f"""
import sys
from openapi_client import ApiClient, CollectionsApi, Configuration, QueryApi, QueryRequest, QueryVector
from openapi_client.exceptions import ApiException

client = ApiClient(Configuration(host=sys.argv[1]))
answer = QueryApi(client).query("words", QueryRequest(vector=QueryVector({VECTOR!r}), limit=3))
assert len(answer.hits) == 3 and answer.collection == "words"
assert CollectionsApi(client).get_collection("words").dim == {catalogs.DIM}
try:
    QueryApi(client).query("words", QueryRequest(vector=QueryVector([1.0])))
except ApiException as error:
    assert error.status == 422 and "dimension_mismatch" in error.body
else:
    raise AssertionError("expected 422")
"""


@pytest.fixture(scope="module")
def generate(tmp_path_factory):
    """Run a generator, then a program in the folder of what it made."""
    if not PROGRAMS.exists():
        assert not os.environ.get("CI"), "CI needs `make .venv-generators/.ready`"
        pytest.skip("needs `make .venv-generators/.ready`")
    folder = tmp_path_factory.mktemp("generated")

    def run(program, *arguments, cwd=folder):
        command = [PROGRAMS / program, *arguments]
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run, folder


@pytest.mark.slow
def test_client_of_openapi_python_client_works(generate, server):
    run, folder = generate
    config = folder / "config.yml"
    config.write_text("content_type_overrides: {application/vnd.apache.arrow.stream: application/octet-stream}")
    made = ["--path", CONTRACT, "--config", config, "--output-path", folder / "first"]
    assert "WARNING" not in run("openapi-python-client", "generate", *made)
    run("python", "-c", PYTHON_CLIENT, server, cwd=folder / "first")


@pytest.mark.slow
def test_client_of_openapi_generator_works(generate, server):
    run, folder = generate
    run("openapi-generator-cli", "generate", "-i", CONTRACT, "-g", "python", "-o", folder / "second")
    run("python", "-c", GENERATOR, server, cwd=folder / "second")
