"""The OpenAPI document, narrowed to what the test catalog has: random names and vectors would all be refused alike."""

import base64
import json

import numpy as np
import schemathesis
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support import catalogs

COLLECTIONS = ["words", "numbers", "none"]
IDS = [*catalogs.AWKWARD_IDS, "target-50", "-986", str(catalogs.LARGEST_ID), "none"]
ALIASES = ["a", "b", "words"]
WORDS = [*list(catalogs.VOCABULARY)[:3], "amber birch", "zzz"]

_NUMBERS = st.floats(-8, 8, width=32)
_VECTORS = arrays.arrays("<f4", st.tuples(st.integers(1, 3), st.just(catalogs.DIM)), elements=_NUMBERS)


def sharpened(document):
    """A copy of the document in which what is sent is likely to lead somewhere; answers are as documented."""
    document = json.loads(json.dumps(document))
    for path, operations in document["paths"].items():
        for operation in operations.values():
            for parameter in operation.get("parameters", []):
                _sharpen_parameter(parameter)
            content = operation.get("requestBody", {}).get("content", {})
            if binary := content.get("application/octet-stream"):
                binary["schema"]["format"] = "hubless-rows" if path.endswith("batch") else "hubless-row"
    schemas = document["components"]["schemas"]
    schemas["AliasRequest"]["properties"]["collection"]["enum"] = COLLECTIONS
    for name in ("QueryRequest", "CountRequest"):
        _sharpen_request(document["components"]["schemas"][name]["properties"])
    _sharpen_targets(document["components"]["schemas"])
    return document


def _sharpen_parameter(parameter):
    known = {"collection": COLLECTIONS, "id": IDS, "alias": ALIASES}
    if parameter["in"] == "path" and parameter["name"] in known:
        parameter["schema"] = {"type": "string", "enum": known[parameter["name"]]}


def _sharpen_request(properties):
    if "timeout_ms" in properties:  # a request that had a millisecond may get 504
        properties["timeout_ms"]["anyOf"] = [{"type": "integer", "minimum": 10_000}, {"type": "null"}]
    if "params" in properties:  # the flat indexes of the catalog have none
        properties["params"]["anyOf"] = [{"type": "object", "maxProperties": 0}, {"type": "null"}]
    for name in {"min_accuracy", "coverage"} & properties.keys():  # the catalog has no labels, which they need
        properties[name]["anyOf"] = [{"type": "null"}]
    if "text" in properties:
        properties["text"]["anyOf"] = [{"type": "string", "enum": WORDS}, {"type": "string"}]


def _sharpen_targets(schemas):
    for name, part in (("QueryRequest", "vector"), ("QueryRequest", "text"), ("QueryRequest", "id")):
        schemas[name].setdefault("oneOf", []).append({"required": [part]})
    schemas["DeletePointsRequest"]["oneOf"] = [{"required": ["ids"]}, {"required": ["filter"]}]
    schemas["QueryVector"]["anyOf"] = [
        {"type": "array", "items": {"type": "number"}, "minItems": catalogs.DIM, "maxItems": catalogs.DIM},
        {"type": "string", "format": "hubless-base64"},
    ]
    ids = schemas["StoredId"]
    ids["anyOf"] = [{"enum": [*IDS, -986, catalogs.LARGEST_ID]}, *ids["anyOf"]]
    schemas["FilterCondition"]["properties"]["field"]["enum"] = ["title", "rank", "tags", "none"]
    schemas["FilterShort"]["propertyNames"] = {"enum": ["title", "rank", "tags", "none"]}
    value = schemas["FilterValue"]  # beside what is allowed: what is against the document has to be refused
    value["anyOf"] = [{"type": "integer"}, {"type": "string", "enum": WORDS}, *value["anyOf"]]


schemathesis.openapi.format("hubless-row", _VECTORS.map(lambda rows: rows[0].tobytes()))
schemathesis.openapi.format("hubless-rows", _VECTORS.map(np.ndarray.tobytes))
schemathesis.openapi.format(
    "hubless-base64", _VECTORS.map(lambda rows: base64.b64encode(rows[0].tobytes()).decode("ascii"))
)
