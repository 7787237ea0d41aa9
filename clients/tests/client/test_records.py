"""What the client reads of answers is what the contract says that they have."""

import json
from dataclasses import fields
from datetime import datetime
from pathlib import Path

import pytest

import hubless_client

CONTRACT = json.loads((Path(__file__).parents[3] / "docs" / "openapi.json").read_text("utf-8"))["components"]["schemas"]
ANSWERS = {
    "AccessInfo": "AccessAnswer",
    "BankInfo": "BankAnswer",
    "BankQuery": "BankQueryAnswer",
    "CollectionInfo": "CollectionAnswer",
    "Deleted": "DeleteAnswer",
    "Drift": "DriftFigures",
    "Explanation": "HitExplanation",
    "Finding": "QueryFinding",
    "Findings": "FindingsAnswer",
    "Hit": "QueryHit",
    "Hub": "FrequentTarget",
    "HubOccurrence": "HubOccurrence",
    "HubnessByChance": "HubnessByChance",
    "LiveHubness": "HubnessAnswer",
    "NeverFound": "NeverFound",
    "Occurrence": "OccurrenceAnswer",
    "OccurrenceByChance": "OccurrenceByChance",
    "RankingHubness": "RankingHubness",
    "RankingOccurrence": "RankingOccurrence",
    "Reranked": "RerankAnswer",
    "RerankedHit": "RerankedHit",
    "ScoresInfo": "ScoresAnswer",
    "VersionDetails": "VersionAnswer",
    "VersionDiff": "DiffAnswer",
    "VersionState": "VersionState",
    "Written": "PutAnswer",
}
LEFT_OUT = {
    "CollectionInfo": {"bank", "dims", "query_sample", "writes"},
    "ScoresInfo": {"work"},
    "Deleted": {"collection", "version"},
    "Written": {"collection", "version"},
    "VersionDetails": {"confidence"},
}
"""What answers have and the client does not show."""


def example(schema):
    """The smallest JSON of a schema that is not null."""
    if "$ref" in schema:
        return example(CONTRACT[schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return example(next(each for each in schema["anyOf"] if each.get("type") != "null"))
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if schema.get("type") == "object":
        return {name: example(each) for name, each in schema.get("properties", {}).items()}
    if schema.get("type") == "array":
        return [example(schema["items"])]
    return {"string": "2026-01-31T00:00:00Z", "integer": 3, "number": 0.5, "boolean": True}.get(schema.get("type"), 7)


def names(kind):
    return {field.name for field in fields(kind)} - {"request_id"}


@pytest.mark.parametrize(("kind", "answer"), ANSWERS.items())
def test_record_has_the_fields_of_its_answer(kind, answer):
    assert names(getattr(hubless_client, kind)) | LEFT_OUT.get(kind, set()) == CONTRACT[answer]["properties"].keys()


# the others are read as parts of these
@pytest.mark.parametrize(
    ("kind", "answer"), [each for each in ANSWERS.items() if hasattr(getattr(hubless_client, each[0]), "from_json")]
)
def test_record_is_read_from_its_answer(kind, answer):
    made = getattr(hubless_client, kind)
    body = example({"$ref": answer})
    read = made.from_json(body, "an id")
    for name in names(made):
        value, sent = getattr(read, name), body[name]
        if isinstance(sent, str | int | float | bool) and not isinstance(value, datetime):
            assert value == sent
        else:
            assert value is not None
    assert getattr(read, "request_id", "an id") == "an id"
