"""What scripts share that speak HTTP without a client library."""

from collections.abc import Mapping
from typing import Any

from hubless.exporting.kinds import Kind
from hubless.exporting.names import Names

HTTP = '''
import urllib.error
import urllib.request

AUTHORIZATION = os.environ.get("AUTHORIZATION")
"""The header, such as `Basic …`, `ApiKey …` or `Bearer …`; none by default."""


def connect():
    return URL.rstrip("/")


def call(method, address, body=None, lines=False):
    """The JSON that the server answers; None for 404."""
    kind = "application/x-ndjson" if lines else "application/json"
    headers = {"Content-Type": kind} | ({"Authorization": AUTHORIZATION} if AUTHORIZATION else {})
    sent = body.encode() if lines else None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, sent, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.loads(answer.read() or b"{}")
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise SystemExit(f"{method} {address}: {error.code} {error.read().decode(errors='replace')[:2000]}") from error
'''

SEARCH = '''

def load(client, replace):
    if call("GET", f"{client}/{NAME}") is not None:
        refuse_unless(replace)
        call("DELETE", f"{client}/{NAME}")
    properties = {"id": {"type": "long" if WHOLE_IDS else "keyword"}, "vector": VECTOR, **COLUMNS}
    call("PUT", f"{client}/{NAME}", {**SETTINGS, "mappings": {"properties": properties}})
    for ids, vectors, payloads in blocks(500):
        lines = []
        for wanted, vector, payload in zip(ids, vectors.tolist(), payloads):
            lines.append(json.dumps({"index": {"_id": str(wanted)}}))
            lines.append(json.dumps({"id": wanted, "vector": vector, **payload}))
        answer = call("POST", f"{client}/{NAME}/_bulk", "\\n".join(lines) + "\\n", lines=True)
        if answer is None or answer["errors"]:
            raise SystemExit(f"refused: {json.dumps(answer)[:2000]}")
    call("POST", f"{client}/{NAME}/_refresh")


def query(client, vector, limit=10, strength=STRENGTH):
    """The ids and corrected scores of the best targets, best first."""
    body = {"size": limit, "_source": ["id"], **question(augmented(vector, strength).tolist(), limit)}
    hits = call("POST", f"{client}/{NAME}/_search", body)["hits"]["hits"]
    return [(hit["_source"]["id"], product(hit["_score"])) for hit in hits]


def product(score):
    """The inner product of a score, which is never negative: x + 1, or 1 / (1 - x) for x below 0."""
    return score - 1 if score >= 1 else 1 - 1 / score
'''

_TEXT = {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}
MAPPED: Mapping[Kind, Any] = {
    Kind.BOOL: {"type": "boolean"},
    Kind.WHOLE: {"type": "long"},
    Kind.NUMBER: {"type": "double"},
    Kind.TEXT: _TEXT,
    **{kind: {"type": "date"} for kind in (Kind.DATE, Kind.TIME, Kind.INSTANT)},
}
"""Types of Elasticsearch and OpenSearch. They find out by themselves what is in a column of JSON."""
FIELD_NAMES = Names(r"[^.]", most=255, reserved=("_id", "_ignored", "_index", "_routing", "_source", "_type"))

INDEX_NAMES = Names(r"[a-z0-9_-]", r"[a-z0-9]", lower=True)
