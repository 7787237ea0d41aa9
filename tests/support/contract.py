"""The OpenAPI document as a check of real answers."""

import json
import re
from pathlib import Path

import httpx
from jsonschema import Draft202012Validator
from prometheus_client.parser import text_string_to_metric_families

STORED = Path(__file__).parents[2] / "docs" / "openapi.json"
PROBLEM = "application/problem+json"


def gauges(client, pattern):
    """What a pattern's group finds in the name of a gauge → value."""
    samples = [each for one in text_string_to_metric_families(client.get("/metrics").text) for each in one.samples]
    return {found[1]: sample.value for sample in samples if (found := re.fullmatch(pattern, sample.name))}


class Contract:
    """What an OpenAPI document allows."""

    def __init__(self, document=None):
        """By default of the document that is stored, as a server sends it."""
        self.document = document = json.loads(STORED.read_text("utf-8")) if document is None else document
        self.paths = [
            (re.compile(re.sub(r"\{\w+\}", "[^/]+", path.replace("{id}", ".+"))), operations)
            for path, operations in document["paths"].items()
        ]

    def client(self, base_url, **options):
        def check(response):
            response.read()
            self.check(response)

        return httpx.Client(base_url=base_url, event_hooks={"response": [check]}, **options)

    def check(self, response):
        """Fail unless the answer is one that the document promises for this path, method and status."""
        media_type = response.headers.get("content-type", "").partition(";")[0]
        operation = self._operation(response.request)
        if operation is None:
            # what is no endpoint: another path or method, or a page for people
            if response.content and response.is_error:
                assert media_type == PROBLEM
                self.validate(response.json(), {"$ref": "#/components/schemas/ProblemAnswer"})
            return
        documented = operation["responses"]
        assert str(response.status_code) in documented, (response.status_code, response.text)
        content = documented[str(response.status_code)].get("content")
        if content is None:
            assert not response.content
            return
        assert media_type in content
        if media_type == PROBLEM:
            assert response.json()["code"] in content[PROBLEM]["examples"]
        if media_type in (PROBLEM, "application/json"):
            self.validate(response.json(), content[media_type]["schema"])

    def validate(self, value, schema):
        """Fail unless a value is as the schema says."""
        Draft202012Validator({**schema, "components": self.document["components"]}).validate(value)

    def _operation(self, request):
        path = request.url.path  # decoded, as the server sees it
        for pattern, operations in self.paths:
            if pattern.fullmatch(path):
                return operations.get(request.method.lower())
        return None


def problem(answer, status=422, code="invalid_input"):
    """The detail of a problem, which must be of this code."""
    assert code_of(answer) == (status, code), answer.text
    return answer.json()["detail"]


def code_of(answer):
    return answer.status_code, answer.json().get("code")
