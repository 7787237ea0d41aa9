import json
import re
from pathlib import Path

import pytest
from support.contract import Contract

from hubless_service.app import create_app
from hubless_service.http.problems import PROBLEM_TYPES
from hubless_service.http.requests import QueryRequest, fields_of
from hubless_service.http.trace import STAGES
from hubless_service.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "http.md").read_text()
EXAMPLES = re.findall(r'(?ms)^```json title="(\w+)"\n(.*?)^```', PAGE)


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    return create_app(Settings(catalog=tmp_path_factory.mktemp("catalog"))).openapi()


def section(title):
    return re.search(rf"(?ms)^## {title}$(.*?)(?=^## |\Z)", PAGE).group(1)


def test_endpoints_are_those_of_the_openapi_document(document):
    rows = re.findall(r"(?m)^\| `(/\S+)` \| (.*) \|$", PAGE)
    documented = [(method, path) for path, said in rows for method in re.findall("`([A-Z]+)`", said)]
    real = [(method.upper(), path) for path, methods in document["paths"].items() for method in methods]
    assert documented == real


def test_fields_of_a_query_are_those_of_the_openapi_document():
    documented = re.findall(r"(?m)^\| `(\w+)` \|", section("Query"))
    assert sorted(documented) == sorted(fields_of(QueryRequest))


def test_codes_and_their_statuses_are_those_of_the_code():
    rows = re.findall(r"(?m)^\| (\d+) \| (.*) \|$", section("Errors"))
    documented = {code: status for status, said in rows for code in re.findall("`([a-z_]+)`", said)}
    assert documented == {code: str(kind.status) for code, kind in PROBLEM_TYPES.items()}


def test_examples_obey_the_schemas_that_their_titles_name(document):
    assert len(EXAMPLES) == len(re.findall("```json", PAGE))
    for name, text in EXAMPLES:
        Contract(document).validate(json.loads(text), {"$ref": f"#/components/schemas/{name}"})


def test_stages_are_those_of_the_code():
    assert {f"`{stage}`" for stage in STAGES} <= set(re.findall(r"`\w+`", section("Headers")))
