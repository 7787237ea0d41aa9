"""Weaviate: distance dot. Its ids are UUIDs, so the id is the property `item_id` too."""

from hubless.exporting.engines.base import Engine
from hubless.exporting.engines.web import HTTP
from hubless.exporting.kinds import Kind
from hubless.exporting.names import Names

_SCRIPT = '''
import uuid

URL = os.environ.get("WEAVIATE_URL", "http://localhost:8080")


def load(client, replace):
    if call("GET", f"{client}/v1/schema/{NAME}") is not None:
        refuse_unless(replace)
        call("DELETE", f"{client}/v1/schema/{NAME}")
    kinds = {"item_id": "text", **COLUMNS}
    described = {
        "class": NAME,
        "vectorizer": "none",
        "vectorIndexType": "hnsw",
        # dot, not cosine: that would divide by the length, and the offset with it. Quantisation would round it
        "vectorIndexConfig": {"distance": "dot", "skipDefaultQuantization": True},
        "properties": [{"name": name, "dataType": [kind]} for name, kind in kinds.items()],
    }
    call("POST", f"{client}/v1/schema", described)
    for ids, vectors, payloads in blocks(200, parsed=False):
        objects = [
            {
                "class": NAME,
                "id": str(uuid.uuid5(uuid.NAMESPACE_URL, str(wanted))),
                "vector": vector,
                "properties": {"item_id": str(wanted)}
                | {name: value for name, value in payload.items() if value is not None},
            }
            for wanted, vector, payload in zip(ids, vectors.tolist(), payloads)
        ]
        answer = call("POST", f"{client}/v1/batch/objects", {"objects": objects})
        refused = [each["result"] for each in answer or [] if each.get("result", {}).get("errors")]
        if answer is None or refused:
            raise SystemExit(f"refused: {json.dumps(refused)[:2000]}")


def query(client, vector, limit=10, strength=STRENGTH):
    """The ids and corrected scores of the best targets, best first."""
    asked = json.dumps(augmented(vector, strength).tolist())
    wanted = f"{NAME}(nearVector: {{vector: {asked}}}, limit: {limit}) {{ item_id _additional {{ distance }} }}"
    answer = call("POST", f"{client}/v1/graphql", {"query": f"{{ Get {{ {wanted} }} }}"})
    if answer.get("errors"):
        raise SystemExit(json.dumps(answer["errors"])[:2000])
    # the distance is minus the inner product
    return [
        (int(hit["item_id"]) if WHOLE_IDS else hit["item_id"], -hit["_additional"]["distance"])
        for hit in answer["data"]["Get"][NAME]
    ]
'''

WEAVIATE = Engine(
    title="Weaviate",
    packages=(),
    script=HTTP + _SCRIPT,
    tested="",
    most_width=65_535,
    collection=Names(r"[A-Za-z0-9_]", r"[A-Za-z]", capital=True),
    columns=Names(r"[A-Za-z0-9_]", r"[A-Za-z_]", most=230, reserved=("_additional", "_id", "item_id")),
    types={
        Kind.BOOL: "boolean",
        Kind.WHOLE: "int",
        Kind.NUMBER: "number",
        Kind.INSTANT: "date",
        **dict.fromkeys((Kind.TEXT, Kind.DATE, Kind.TIME, Kind.JSON), "text"),
    },
)
