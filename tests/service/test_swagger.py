"""What Swagger UI sends when nothing is changed in its forms: the server answers each operation with 200."""

import json
import shutil
from urllib.parse import quote

import httpx
import numpy as np
import pytest
from support import catalogs, small
from support.contract import Contract
from support.serving import serving, wait_until_ready

import hubless
from hubless_service.app import create_app
from hubless_service.settings import Settings

JSON = "application/json"
ORDER = ["put", "patch", "get", "post", "delete"]  # an alias has to be there before it can be shown, or removed
READ_KEY = "reader-0123456789"


def filled_in(parameter):
    """What Swagger UI fills into the form of a parameter; None if it leaves the form empty."""
    schema = parameter.get("schema", {})
    choices = schema.get("oneOf") or schema.get("anyOf") or [{}]
    schema = {**choices[0], **schema}  # it composes the form of the first choice
    examples = [example["value"] for example in parameter.get("examples", {}).values()]
    candidates = [*examples, parameter.get("example"), schema.get("example"), schema.get("default")]
    return next((str(value) for value in candidates if value is not None), None)


def requests_of(client, path, method, operation):
    """The requests that Swagger UI sends for an operation: one, or one for each example of its body."""
    query, headers = {}, {}
    for parameter in operation.get("parameters", []):
        name, value = parameter["name"], filled_in(parameter)
        if value is None:
            assert not parameter["required"], f"{method} {path}: the form of {name} is empty, so nothing is sent"
        elif parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        else:
            (query if parameter["in"] == "query" else headers)[name] = value
    if "requestBody" not in operation:
        yield client.build_request(method, path, params=query, headers=headers)
        return
    content = operation["requestBody"]["content"]
    assert next(iter(content)) == JSON
    for example in content[JSON]["examples"].values():
        yield client.build_request(method, path, params=query, headers=headers, json=example["value"])


def execute_all(client):
    """Send all that Swagger UI would; how many requests that were."""
    # as a browser reads it, which has no whole numbers above 2^53
    document = json.loads(client.get("/openapi.json").text, parse_int=lambda digits: int(float(digits)))
    contract, sent = Contract(document), 0
    operations = [(path, *found) for path, methods in document["paths"].items() for found in methods.items()]
    for path, method, operation in sorted(operations, key=lambda found: ORDER.index(found[1])):
        for request in requests_of(client, path, method, operation):
            answer = client.send(request)
            assert answer.status_code in (200, 201, 202), (method, str(request.url), request.content[:300], answer.text)
            contract.check(answer)
            sent += 1
    return sent


def build_one_target(catalog):
    rng = np.random.default_rng(0)
    bank = rng.normal(size=(20, 3)).astype(np.float32)
    hubless.build(catalog, "single", bank[:1], bank, index="flat", correction="none", progress=False)


def build_large_numbers(catalog):
    data = catalogs.numbers()
    hubless.build(catalog, "numbers", data.targets, data.query_bank, ids=data.ids, metric="dot", progress=False)


@pytest.mark.parametrize(
    ("build", "examples"),
    [(catalogs.build, 40), (small.build_full, 39), (build_large_numbers, 35), (build_one_target, 34)],
)
def test_every_form_works_as_it_is_filled_in_whatever_is_served(tmp_path, build, examples):
    build(tmp_path)
    with serving(create_app(Settings(catalog=tmp_path))) as url, httpx.Client(base_url=url) as client:
        wait_until_ready(url)
        assert execute_all(client) == examples


def test_every_form_works_where_there_are_aliases_already(tmp_path):
    small.build(tmp_path)
    catalog = hubless.Catalog(tmp_path)
    catalog.set_alias("pictures", "photos", expected=0)
    catalog.set_alias("example-alias", "photos", expected=0)
    with serving(create_app(Settings(catalog=tmp_path))) as url, httpx.Client(base_url=url) as client:
        wait_until_ready(url)
        execute_all(client)
    assert set(catalog.aliases()) == {"pictures"}


def test_document_names_collections_to_those_only_who_may_see_them(catalog, tmp_path):
    keys = {"catalog": shutil.copytree(catalog, tmp_path / "catalog"), "read_keys": READ_KEY}
    with serving(create_app(Settings(**keys))) as url:
        wait_until_ready(url)
        hidden, shown = (
            httpx.get(f"{url}/openapi.json", headers=headers).json() for headers in ({}, {"X-API-Key": READ_KEY})
        )
    examples = [
        {
            filled_in(parameter)
            for methods in document["paths"].values()
            for operation in methods.values()
            for parameter in operation.get("parameters", [])
            if parameter["name"] == "collection" and filled_in(parameter) != "example-collection"
        }
        for document in (hidden, shown)
    ]
    assert examples == [{"stdlib"}, {"words"}]
    assert "target-5" not in str(hidden)


def test_document_shows_the_limits_that_are_set(serve, words):
    with serve({"words": words}, max_limit=17, default_limit=3) as (client, _):
        limit = client.get("/openapi.json").json()["components"]["schemas"]["QueryRequest"]["properties"]["limit"]
        path = "/v1/collections/words/query"
        assert client.post(path, json={"text": "amber", "limit": 17}).status_code == 200
        problem = client.post(path, json={"text": "amber", "limit": 18}).json()
    assert limit["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 17}
    assert (problem["parameter"], problem["expected"]) == ("limit", "a whole number from 1 to 17")
