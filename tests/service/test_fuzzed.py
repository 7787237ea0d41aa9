"""What the contract allows, and what it forbids, sent at random: every answer is one that the contract knows."""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from functools import cache

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from support.contract import STORED
from support.serving import serving_catalog
from support.sharpened import sharpened

DOCUMENT = json.loads(STORED.read_text("utf-8"))
SCHEMA = schemathesis.openapi.from_dict(sharpened(DOCUMENT))
OPERATIONS = {found.ok().label: found.ok() for found in SCHEMA.get_all_operations()}
WITH_INPUT = [label for label, operation in OPERATIONS.items() if operation.path_parameters or operation.body]
(NO_FAILURE,) = CHECKS.get_by_names(["not_a_server_error"])
KEPT = [
    NO_FAILURE,
    *CHECKS.get_by_names(
        [
            "status_code_conformance",
            "content_type_conformance",
            "response_headers_conformance",
            "response_schema_conformance",
        ]
    ),
]
DOCUMENTED = GenerationMode.POSITIVE, KEPT
REFUSED = [*KEPT, *CHECKS.get_by_names(["negative_data_rejection"])]
FEW, QUICK, LONG = 3, 12, 400
ADMIN_KEY = "admin-0123456789"
WHOLE = re.compile(r"^(PUT|DELETE) /v1/collections/{collection}$")  # which the other tests need as it is
NAMES_UNKNOWN = re.compile(
    rf"{{version}}|{{alias}}|{{name}}|/points$|/points/delete$|/pictures/|/occurrence/queries$|^PUT .*/bank$|/clicks$|"
    rf"^DELETE .*/points/|{WHOLE.pattern}"
)  # of which none is guessed, or not all, or is there once; a bank needs a collection that can be fitted
WRITES = [f"{method} /v1/collections/{{collection}}/points" for method in ("PUT", "PATCH")]
WRITES.append("POST /v1/collections/{collection}/points/delete")
WRITES.append("DELETE /v1/collections/{collection}/points/{id}")
WRITES.append("PUT /v1/collections/{collection}/bank")
WRITES.append("POST /v1/collections/{collection}/versions/{version}/activate")
WRITES += [f"{method} /v1/aliases/{{alias}}" for method in ("PUT", "DELETE")]
WRITES += [f"{method} /v1/scores/{{name}}" for method in ("PUT", "DELETE")]
PUBLIC = ("GET /livez", "GET /readyz")


@pytest.fixture(scope="module")
def serve_copy(catalog, tmp_path_factory):
    """Give the address of a server with these keys for an operation; what writes has a catalog of its own."""
    with ExitStack() as served:

        @cache
        def serve(writes, **keys):
            copy = shutil.copytree(catalog, tmp_path_factory.mktemp("fuzzed") / "catalog")
            return served.enter_context(serving_catalog(copy, **keys))

        yield lambda label, **keys: serve(label in WRITES or bool(WHOLE.search(label)), **keys)


@pytest.fixture
def unguarded(serve_copy, label):
    return serve_copy(label)


@pytest.fixture
def guarded(serve_copy, label):
    return serve_copy(label, admin_keys=ADMIN_KEY)


def fuzz(base_url, label, mode, checks, examples, key=None):
    """Send requests for an operation, few of them always the same ones; how often each status came back."""
    operation, statuses = OPERATIONS[label], Counter()
    # a wrong name is refused before anything else is looked at
    known = {"collection": "words", "alias": "a", "name": "some"}
    right = {name: value for name, value in known.items() if f"{{{name}}}" in label}
    path = right if mode == GenerationMode.NEGATIVE and operation.body else None
    if WHOLE.search(label):
        path = {"collection": "fuzzed"}

    @settings(
        max_examples=examples,
        derandomize=examples < LONG,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode, path_parameters=path))
    def send(case):
        for name in ("Authorization", "X-API-Key"):
            case.headers.pop(name, None)
        answer = case.call(base_url=base_url, timeout=60, headers={"X-API-Key": key} if key else None)
        statuses[answer.status_code] += 1
        if answer.status_code == 431:  # so long a head is refused before anybody looks where it goes
            assert len(case.as_curl_command()) > 2**16
            return
        # whoever gives a millisecond gets 504
        late = answer.status_code == 504 and answer.json()["code"] == "deadline_exceeded"
        case.validate_response(answer, checks=[check for check in checks if not (late and check is NO_FAILURE)])

    send()
    return statuses


def tried(quick):
    cases = [pytest.param(quick, id="quick"), pytest.param(LONG, id="long", marks=pytest.mark.slow)]
    return pytest.mark.parametrize("examples", cases)


@tried(QUICK)
@pytest.mark.parametrize("label", OPERATIONS)
def test_requests_as_documented_get_documented_answers(unguarded, label, examples):
    statuses = fuzz(unguarded, label, *DOCUMENTED, examples)
    if not NAMES_UNKNOWN.search(label):  # of queries one in ten is right
        assert statuses[200] or fuzz(unguarded, label, *DOCUMENTED, 10 * examples)[200], statuses


@tried(QUICK // 2)
@pytest.mark.parametrize("label", WITH_INPUT)
def test_requests_against_the_document_are_refused_as_documented(unguarded, label, examples):
    checks = KEPT if "{id}" in label else REFUSED  # an id at random may be one that is there
    fuzz(unguarded, label, GenerationMode.NEGATIVE, checks, examples)


@pytest.mark.parametrize("key", [None, "a key that opens nothing"], ids=["none", "wrong"])
@pytest.mark.parametrize("label", OPERATIONS)
def test_requests_without_a_right_key_get_401_or_what_is_public(guarded, label, key):
    assert set(fuzz(guarded, label, *DOCUMENTED, FEW, key)) == ({200} if label in PUBLIC else {401})


CHECKED = """--phases examples,coverage,stateful --max-examples 5 --seed 0 --continue-on-failure
--warnings off --checks all --exclude-checks positive_data_acceptance,negative_data_rejection
--exclude-path /v1/collections/{collection}/points/delete"""
"""Schemas say less than the server checks; the tests above hold the second; the path is the point "delete", too."""


@pytest.mark.slow
def test_cases_at_the_limits_of_the_document_and_chains_of_them_pass_the_checks_of_schemathesis(serve_copy, tmp_path):
    url = serve_copy(WRITES[0], admin_keys=ADMIN_KEY)
    run = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run", STORED]
    run += [*CHECKED.split(), "--url", url, "--header", f"Authorization: Bearer {ADMIN_KEY}"]
    ended = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
