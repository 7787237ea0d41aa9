"""The OpenAPI document is valid, complete, and true; that answers obey it, the shared client checks everywhere."""

import re

import httpx
import pytest
from fastapi.openapi.models import OpenAPI
from jsonschema import Draft202012Validator

from hubless_service.http.problems import PROBLEM_TYPES
from hubless_service.http.requests import BinaryRequest, fields_of


@pytest.fixture(scope="module")
def document(contract):
    return contract.document


def walk(value, path=()):
    yield path, value
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from walk(child, (*path, key))


def operations(document):
    return {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_document_is_openapi_3_1(document):
    assert document["openapi"].startswith("3.1")
    OpenAPI.model_validate(document)


def test_every_schema_is_a_schema(document):
    parameters = [p for operation in operations(document).values() for p in operation.get("parameters", [])]
    for schema in [*document["components"]["schemas"].values(), *(parameter["schema"] for parameter in parameters)]:
        Draft202012Validator.check_schema(schema)


def test_every_path_parameter_is_described(document):
    for (_, path), operation in operations(document).items():
        declared = {p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}
        assert declared == set(re.findall(r"\{(\w+)\}", path))


def test_every_example_obeys_its_schema(document, contract):
    checked = 0
    for path, value in walk(document["paths"]):
        if isinstance(value, dict) and "schema" in value and path[-2:-1] == ("content",):
            examples = [example["value"] for example in value.get("examples", {}).values()]
            for example in [*examples, *([value["example"]] if "example" in value else [])]:
                contract.validate(example, value["schema"])
                checked += 1
    assert checked > 20


def test_every_code_is_documented_with_its_status(document):
    documented = {
        (code, int(status))
        for operation in operations(document).values()
        for status, answer in operation["responses"].items()
        for code in answer.get("content", {}).get("application/problem+json", {}).get("examples", {})
    }
    elsewhere = {"not_found", "method_not_allowed"}  # of what is no operation
    assert documented == {(code, kind.status) for code, kind in PROBLEM_TYPES.items() if code not in elsewhere}


def test_every_operation_has_a_summary_a_description_and_what_any_request_may_be_answered(document):
    for operation in operations(document).values():
        assert {"400", "431", "500", "503"} <= operation["responses"].keys()
        assert ({} in operation["security"]) == ("401" not in operation["responses"])
        assert operation["summary"]
        assert operation["description"]


def test_every_field_of_a_request_is_described(document):
    for name in ("QueryRequest", "BatchRequest", "CountRequest", "AliasRequest"):
        for field, schema in document["components"]["schemas"][name]["properties"].items():
            assert schema.get("description"), (name, field)


def test_binary_bodies_take_the_fields_that_a_url_can_carry(document):
    for path in ("query", "query/batch"):
        operation = operations(document)["POST", f"/v1/collections/{{collection}}/{path}"]
        assert "application/octet-stream" in operation["requestBody"]["content"]
        assert {p["name"] for p in operation["parameters"] if p["in"] == "query"} == fields_of(BinaryRequest)


def test_docs_page_has_no_external_url(server):
    page = httpx.get(f"{server}/docs")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert re.findall(r"(?:https?:)?//[\w.]", page.text) == []
    targets = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(targets) == 4
    said = httpx.get(f"{server}/console/docs.js").text
    assert "validatorUrl: null" in said
    assert 'url: "openapi.json"' in said
    for target in targets:
        asset = httpx.get(httpx.URL(f"{server}/docs").join(target))
        assert asset.status_code == 200
        assert len(asset.content) > 100
        assert "css" not in target or not re.search(r"@import|url\(\s*[\"']?(?:https?:)?//", asset.text)


def test_operations_are_named_by_their_endpoints(document):
    names = [operation["operationId"] for operation in operations(document).values()]
    assert len(set(names)) == len(names)
    assert {"query", "query_batch", "put_points", "get_version"} <= set(names)
