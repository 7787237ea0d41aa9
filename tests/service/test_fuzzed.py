"""What the contract allows, and what it forbids, sent at random: every answer is one that the contract knows."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from support.serving import serving, wait_until_ready
from support.sharpened import sharpened

from hubless_service.app import create_app
from hubless_service.settings import Settings

DOCUMENT = json.loads((Path(__file__).parents[2] / "docs" / "openapi.json").read_text("utf-8"))
SCHEMA = schemathesis.openapi.from_dict(sharpened(DOCUMENT))
OPERATIONS = {found.ok().label: found.ok() for found in SCHEMA.get_all_operations()}
WITH_INPUT = [label for label, operation in OPERATIONS.items() if operation.path_parameters or operation.body]
KEPT = CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
    ]
)
REFUSED = [*KEPT, *CHECKS.get_by_names(["negative_data_rejection"])]
QUICK, LONG = 60, 1000


@pytest.fixture(scope="module")
def fuzzed(catalog, tmp_path_factory):
    """Address of a server that may be asked to change its catalog."""
    copy = shutil.copytree(catalog, tmp_path_factory.mktemp("fuzzed") / "catalog")
    with serving(create_app(Settings(catalog=copy))) as base_url:
        wait_until_ready(base_url)
        yield base_url


def fuzz(base_url, label, mode, checks, examples):
    """Send requests for an operation, few of them always the same ones; how often each status came back."""
    operation, statuses = OPERATIONS[label], Counter()
    # a wrong name of a collection is refused before anything else is looked at
    path = {"collection": "words"} if mode == GenerationMode.NEGATIVE and operation.body else None

    @settings(
        max_examples=examples,
        derandomize=examples == QUICK,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode, path_parameters=path))
    def send(case):
        answer = case.call(base_url=base_url)
        statuses[answer.status_code] += 1
        case.validate_response(answer, checks=checks)

    send()
    return statuses


EXAMPLES = pytest.mark.parametrize(
    "examples", [pytest.param(QUICK, id="quick"), pytest.param(LONG, id="long", marks=pytest.mark.slow)]
)


@EXAMPLES
@pytest.mark.parametrize("label", OPERATIONS)
def test_requests_as_documented_get_documented_answers(fuzzed, label, examples):
    statuses = fuzz(fuzzed, label, GenerationMode.POSITIVE, KEPT, examples)
    assert statuses[200]  # some got as far as that


@EXAMPLES
@pytest.mark.parametrize("label", WITH_INPUT)
def test_requests_against_the_document_are_refused_as_documented(fuzzed, label, examples):
    fuzz(fuzzed, label, GenerationMode.NEGATIVE, REFUSED, examples)
