"""Collections that are created empty and deleted over HTTP."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pyarrow as pa
import pytest
from support import catalogs
from support.contract import code_of, problem
from support.files import arrow_stream
from support.server_process import served
from support.serving import serving_catalog
from support.writing import put_points

from hubless_service.http.arrow import ARROW

NOTES = "/v1/collections/notes"
FREE = {"dim": 3, "metric": "cosine", "id_type": "string"}
TYPED = FREE | {"id_type": "int64", "payload_schema": {"title": "string", "price": "float64"}}
VECTOR = [0.5, 1.0, -0.25]
KEYS = {"read": "reader-0123456789", "write": "writer-0123456789", "admin": "admin-01234567890"}


@pytest.fixture
def client(tmp_path, contract):
    with serving_catalog(tmp_path) as url, contract.client(url, timeout=60) as client:
        yield client


def ask_everything(client):
    query = {"vector": VECTOR, "explain": True, "with": ["payload", "vector"]}
    some = {"filter": {"field": "title", "prefix": "A"}}
    asked = [
        client.post(f"{NOTES}/query", json=query),
        client.post(f"{NOTES}/query", json=query | some),
        client.post(f"{NOTES}/query", json={"vector": VECTOR, "params": {"exact": True}, "strength": 0.5}),
        client.post(f"{NOTES}/query/batch", json={"queries": [query, query | some]}),
        client.post(f"{NOTES}/count"),
        client.post(f"{NOTES}/count", json=some),
        client.post(f"{NOTES}/scroll", json={"limit": 1}),
        client.post(f"{NOTES}/scroll", json=some),
        client.post(f"{NOTES}/points", json={"ids": ["a", "b"], "with": ["payload.title"]}),
        client.get(f"{NOTES}/hubness"),
        client.get(f"{NOTES}/versions"),
        client.get(NOTES),
        client.get("/v1/collections"),
        client.get("/metrics"),
        client.get("/readyz"),
    ]
    assert [answer.status_code for answer in asked] == [200] * len(asked)
    return [answer.json() if "json" in answer.headers["content-type"] else {} for answer in asked]


def test_empty_collection_answers_everything_and_grows(client):
    created = client.put(NOTES, json=FREE)
    assert created.status_code == 201
    document = created.json()
    assert (document["count"], document["payload"], document["measured"]) == (0, "json", None)
    assert document["correction"]["name"] == "none"
    assert [found["hits"] for found in ask_everything(client)[:3]] == [[], [], []]
    points = [
        {"id": "a", "vector": VECTOR, "payload": {"title": "A", "deep": {"x": [1, None, {"y": 2.5}]}, "none": None}},
        {"id": "b", "vector": [1, 0, 0], "payload": {"year": 2001}},
        {"id": "c", "vector": [0, 1, 0]},
    ]
    assert put_points(client, *points, to=NOTES).json()["inserted"] == 3
    answers = ask_everything(client)
    assert [hit["id"] for hit in answers[0]["hits"]] == ["a", "c", "b"]
    assert [hit["payload"] for hit in answers[1]["hits"]] == [points[0]["payload"]]
    assert (answers[4]["count"], answers[5]["count"]) == (3, 1)
    assert [point["payload"] for point in answers[8]["points"]] == [{"title": "A"}, {}]
    assert client.get(f"{NOTES}/points/c").json()["payload"] == {}
    like = client.post(f"{NOTES}/query", json={"id": "a", "limit": 1}).json()
    assert [hit["id"] for hit in like["hits"]] == ["c"]


def test_collection_of_fewer_dimensions_keeps_the_others_to_score_by(client):
    about = client.put(NOTES, json=FREE | {"dim": 12, "dims": 5, "keep_full": True}).json()
    assert (about["dim"], about["dims"], about["index"]["candidates"]) == (12, 5, 50)


def test_creating_again_is_answered_alike_and_other_settings_are_named(client):
    client.put(NOTES, json=FREE)
    again = client.put(NOTES, json=FREE)
    assert (again.status_code, again.json()["name"]) == (200, "notes")
    assert "dim is 3, not 4" in problem(client.put(NOTES, json=FREE | {"dim": 4}), 409, "collection_exists")
    assert "free JSON" in problem(client.put(NOTES, json=TYPED), 409, "collection_exists")


def test_typed_payload_is_checked_and_integer_ids_are_kept(client):
    document = client.put(NOTES, json=TYPED).json()
    assert document["payload_types"] == {"title": "string", "price": "double"}
    point = {"id": 7, "vector": VECTOR, "payload": {"title": "A"}}
    assert put_points(client, point, to=NOTES).status_code == 200
    assert client.get(f"{NOTES}/points/7").json()["payload"] == {"title": "A", "price": None}
    wrong = {"points": [point | {"payload": {"price": "dear"}}]}
    assert "points[0].payload.price" in problem(client.put(f"{NOTES}/points", json=wrong), 422, "invalid_input")
    wrong = {"points": [point | {"id": "seven"}]}
    problem(client.put(f"{NOTES}/points", json=wrong), 422, "invalid_input")


def test_collection_without_payload_takes_none(client):
    document = client.put(NOTES, json=FREE | {"payload_schema": {}}).json()
    assert (document["payload"], document["payload_types"]) == (None, {})
    wrong = {"points": [{"id": "a", "vector": VECTOR, "payload": {"title": "A"}}]}
    assert "no payload" in problem(client.put(f"{NOTES}/points", json=wrong), 422, "invalid_input")
    content = arrow_stream(pa.table({"id": ["a"], "title": ["A"], "vector": pa.nulls(1)}))
    answer = client.put(f"{NOTES}/points", content=content, headers={"Content-Type": ARROW})
    assert "no payload" in problem(answer, 422, "unknown_field")


def test_patch_of_free_payload_sets_keys_and_null_removes_one(client):
    client.put(NOTES, json=FREE)
    point = {"id": "a", "vector": VECTOR, "payload": {"title": "A", "year": 2001}}
    put_points(client, point, to=NOTES)
    patch = {"points": [{"id": "a", "payload": {"year": None, "new": [1]}}]}
    assert client.patch(f"{NOTES}/points", json=patch).status_code == 200
    assert client.get(f"{NOTES}/points/a").json()["payload"] == {"title": "A", "new": [1]}


def test_aliased_collection_is_deleted_only_if_its_aliases_may_go(client):
    client.put(NOTES, json=FREE)
    client.put("/v1/aliases/papers", json={"collection": "notes"})
    assert "papers" in problem(client.delete(NOTES), 409, "collection_aliased")
    problem(client.delete("/v1/collections/papers"), 404, "collection_not_found")
    refused = client.put("/v1/collections/papers", json=FREE)
    assert "alias" in problem(refused, 422, "invalid_input")
    assert client.delete(f"{NOTES}?aliases=true").status_code == 200
    assert client.get("/v1/aliases").json() == {"aliases": []}


NAMES = ["first", "second"]
CREATE = {"dim": 4, "metric": "cosine", "id_type": "string"}
RIGHT = {(200, None), (201, None), (404, "collection_not_found"), (404, "point_not_found"), (404, "alias_not_found")}
RIGHT |= {(409, "collection_exists"), (409, "collection_aliased"), (412, "precondition_failed"), (503, "not_ready")}


def requests_of(client, turn):
    """The requests of a client, in turn: it creates, deletes, names, writes and reads."""
    path, alias = f"/v1/collections/{NAMES[(client + turn) % 2]}", "/v1/aliases/other"
    points = {"points": [{"id": str(client), "vector": [1, 2, 3, client + 1], "payload": {"a": client}}]}
    return [
        ("PUT", path, CREATE, {}),
        ("DELETE", path, None, {}),
        ("PUT", f"{path}/points", points, {}),
        ("PUT", f"{path}/points", points | {"durability": "memory"}, {}),
        ("POST", f"{path}/points/delete", {"ids": [str(client)]}, {}),
        ("DELETE", f"{path}?aliases=true", None, {}),
        ("PUT", path, CREATE, {}),
        ("POST", f"{path}/scroll", {"limit": 3}, {}),
        ("PUT", alias, {"collection": path.rpartition("/")[2]}, {"If-Match" if turn % 4 < 2 else "If-None-Match": "*"}),
        ("GET", f"{path}/versions", None, {}),
        ("POST", f"{path}/query", {"vector": [1, 2, 3, 4]}, {}),
        ("PUT", path, CREATE | {"dim": 5}, {}),
        ("GET", f"{path}/bank", None, {}),
        ("GET", "/v1/collections", None, {}),
        ("GET", f"{path}/points/{client}", None, {}),
    ][(4 * client + turn) % 15]


def test_every_answer_is_right_while_collections_come_and_go(tmp_path):
    seen, details = Counter(), {}
    with served(tmp_path, workers=2, ready=False) as server:
        while sum("There is nothing to serve" in line for line in server.log) < 2:
            time.sleep(0.01)

        def ask(number):
            with httpx.Client(base_url=server.url, timeout=60) as client:
                for turn in range(30):
                    method, path, body, headers = requests_of(number, turn)
                    answer = client.request(method, path, json=body, headers=headers)
                    found = code_of(answer)
                    if found == (422, "dimension_mismatch"):
                        continue  # it stands with other settings
                    seen[found] += 1
                    details[found] = f"{method} {path}: {answer.json().get('detail')}"

        with ThreadPoolExecutor(8) as pool:
            [*pool.map(ask, range(8))]
        assert not [line for line in server.log if "Traceback" in line]
    assert {*seen} <= RIGHT, {found: (seen[found], details[found]) for found in seen.keys() - RIGHT}
    assert seen[200, None] > 0 < seen[201, None]


def described(endpoint, **more):
    dim = catalogs.encoder().dim
    return FREE | {"dim": dim, "encoder": {"type": "openai", "url": endpoint.url, "model": "words"} | more}


def test_collection_is_created_with_an_encoder_and_takes_texts(client, endpoint):
    created = client.put(NOTES, json=described(endpoint))
    assert (created.status_code, created.json()["text"]) == (201, True)
    points = [{"id": "a", "text": "amber birch"}, {"id": "b", "text": "cedar delta"}]
    assert put_points(client, *points, to=NOTES).json()["inserted"] == 2
    assert client.post(f"{NOTES}/query", json={"text": "amber birch"}).json()["hits"][0]["id"] == "a"


def test_empty_collection_is_given_an_encoder_later_and_another_one(client, endpoint):
    plain = described(endpoint)
    del plain["encoder"]
    assert client.put(NOTES, json=plain).json()["text"] is False
    given = client.put(NOTES, json=described(endpoint))
    assert (given.status_code, given.json()["text"]) == (200, True)
    version = given.json()["version"]
    assert client.put(NOTES, json=described(endpoint)).json()["version"] == version
    assert client.put(NOTES, json=plain).json()["version"] == version
    assert client.put(NOTES, json=described(endpoint, model="others")).json()["version"] != version
    put_points(client, {"id": "a", "text": "amber birch"}, to=NOTES)
    assert endpoint.asked[-1][1]["model"] == "others"
    refused = problem(client.put(NOTES, json=described(endpoint)), 409, "collection_exists")
    assert "only an empty one takes an encoder" in refused
    assert client.put(NOTES, json=described(endpoint, model="others")).status_code == 200


def test_encoder_needs_a_key_of_role_admin(tmp_path, contract, endpoint):
    keys = {f"{role}_keys": key for role, key in KEYS.items()}
    with serving_catalog(tmp_path, **keys) as url, contract.client(url, timeout=60) as client:
        writer, admin = ({"Authorization": f"Bearer {KEYS[role]}"} for role in ("write", "admin"))
        problem(client.put(NOTES, json=described(endpoint), headers=writer), 403, "forbidden")
        assert client.put(NOTES, json=described(endpoint), headers=admin).status_code == 201
