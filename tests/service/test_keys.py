"""API keys: what each of them opens, and that none of them is ever shown."""

import hashlib
import json
import logging
import os
import re
import threading

import pytest
import typer
from support.contract import code_of
from support.serving import serving_catalog
from support.until import until

from hubless.errors import InputError
from hubless_service.access.keys import Keys
from hubless_service.command import serve
from hubless_service.settings import Settings

READ, ADMIN, LIMITED, HASHED = ("reader-0123456789", "admin-0123456789", "limited-0123456789", "hashed-0123456789")
OF_KEYS = [name for name in Settings.model_fields if name.endswith("_keys") and name != "max_wrong_keys"]
QUERY = "/v1/collections/words/query"
ASK = {"text": "amber"}
FILE = {
    "keys": [
        {"key": LIMITED, "role": "read", "collections": ["words"]},
        {"sha256": hashlib.sha256(HASHED.encode()).hexdigest(), "role": "read"},
    ]
}


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture(scope="module")
def keys_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("keys") / "keys.json"
    path.write_text(json.dumps(FILE))
    return path


@pytest.fixture(scope="module")
def guarded(catalog, keys_file):
    keys = {"read_keys": f"{READ}, other-0123456789", "admin_keys": ADMIN, "keys_file": keys_file}
    with serving_catalog(catalog, **keys) as base_url:
        yield base_url


@pytest.fixture
def client(guarded, contract):
    with contract.client(guarded) as client:
        yield client


@pytest.mark.parametrize("key", [READ, "other-0123456789", ADMIN, LIMITED, HASHED])
@pytest.mark.parametrize(
    "header", [bearer, lambda key: {"X-API-Key": key}, lambda key: {"authorization": f"BEARER {key}"}]
)
def test_known_key_in_either_header_may_query(client, key, header):
    assert len(client.post(QUERY, json=ASK, headers=header(key)).json()["hits"]) == 10


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": f"Basic {READ}"},
        {"Authorization": READ},
        {"X-API-Key": ""},
        bearer(READ + "x"),
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", QUERY),
        ("GET", "/v1/collections"),
        ("GET", "/v1/collections/no-such"),
        ("GET", "/metrics"),
        ("GET", "/v1/nothing"),
        ("GET", "/docs/../v1/collections"),
        ("OPTIONS", QUERY),
    ],
)
def test_without_a_known_key_nothing_is_told(client, method, path, headers):
    answer = client.request(method, path, headers=headers)
    assert code_of(answer) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"].startswith('Bearer realm="hubless"')
    assert answer.headers["x-request-id"] == answer.json()["request_id"]
    assert ("invalid_token" in answer.headers["www-authenticate"]) == (
        "Bearer " in headers.get("Authorization", "") or "X-API-Key" in headers
    )


@pytest.mark.parametrize("names", [("Authorization", "X-API-Key"), ("X-API-Key", "Authorization")])
def test_bearer_token_for_a_proxy_does_not_hide_the_key(client, names):
    values = {"Authorization": "Bearer token-for-a-proxy", "X-API-Key": READ}
    assert client.post(QUERY, json=ASK, headers={name: values[name] for name in names}).status_code == 200


def test_probes_and_documentation_need_no_key_and_name_no_collection(client):
    assert client.get("/livez").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    assert client.get("/readyz", headers=bearer("wrong-0123456789")).json() == {"status": "ready"}
    assert client.get("/docs").status_code == 200
    assert client.get("/", follow_redirects=True).url.path == "/console/"
    assert client.get("/docs/assets/swagger-ui.css").status_code == 200
    assert client.get("/openapi.json").status_code == 200
    assert set(client.get("/readyz", headers=bearer(READ)).json()["collections"]) == {"words", "numbers"}


def test_collection_that_is_being_opened_is_not_there_for_a_key_that_may_not_see_it(serve, words, numbers, keys_file):
    settings = {"keys_file": keys_file, "poll_seconds": 0.01, "default_timeout_ms": 200}
    with serve({"words": words}, **settings) as (client, source):
        source.gates["numbers"] = threading.Event()
        source.served["numbers"] = numbers
        until(lambda: client.get("/v1/collections/numbers", headers=bearer(HASHED)).status_code == 503)
        hidden = client.get("/v1/collections/numbers", headers=bearer(LIMITED))
        assert code_of(hidden) == (404, "collection_not_found")
        source.gates["numbers"].set()


def test_file_is_read_anew_when_it_changes_and_a_wrong_one_changes_nothing(tmp_path, catalog, caplog):
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(FILE))
    keys = Keys(Settings(catalog=catalog, read_keys=READ, keys_file=path))
    assert keys.access(LIMITED.encode()).collections == {"words"}

    path.write_text(json.dumps({"keys": [{"key": "fresh-0123456789", "role": "admin"}]}))
    keys.look()
    assert keys.access(LIMITED.encode()) is None
    assert keys.access(b"fresh-0123456789").has("admin")
    assert not keys.access(READ.encode()).has("admin")

    with caplog.at_level(logging.WARNING):
        path.write_text(json.dumps({"keys": [{"key": "short", "role": "admin"}]}))
        keys.look()
        keys.look()
        path.unlink()
        keys.look()
    assert keys.access(b"fresh-0123456789").has("admin")
    assert len(caplog.records) == 2
    assert "short" not in caplog.text.replace("shorter", "")


def test_limited_key_beside_one_folder_of_pictures_for_all_is_refused_at_the_start_and_later(tmp_path, catalog, caplog):
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(FILE))
    one, each = (Settings(catalog=catalog, keys_file=path, pictures=tmp_path / name) for name in ("", "{collection}"))
    said = "HUBLESS_PICTURES: expected {collection} in it, such as /pictures/{collection}, as a key is limited"
    with pytest.raises(InputError, match=re.escape(said)):
        Keys(one)
    assert Keys(each).access(LIMITED.encode())
    path.write_text(json.dumps({"keys": FILE["keys"][1:]}))
    keys = Keys(one)
    path.write_text(json.dumps(FILE))
    keys.look()
    assert keys.access(HASHED.encode())
    assert not keys.access(LIMITED.encode())
    assert f"API keys stay as they were: {said}" in caplog.text


def test_file_that_is_written_twice_in_the_same_moment_is_read_anew(tmp_path, catalog):
    path = tmp_path / "keys.json"
    first, second = (json.dumps({"keys": [{"key": f"{number}-0123456789-abcd", "role": "read"}]}) for number in (1, 2))
    path.write_text(first)
    keys = Keys(Settings(catalog=catalog, keys_file=path))
    stat = path.stat()
    path.write_text(second)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    keys.look()
    assert keys.access(b"1-0123456789-abcd") is None
    assert keys.access(b"2-0123456789-abcd")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "content"),
        ("[]", "content"),
        ('{"keys": [{"role": "read"}]}', "keys.0: expected either key or sha256, got neither"),
        ('{"keys": [{"key": "secret-0123456789", "sha256": "%s", "role": "read"}]}' % ("0" * 64), "got both"),
        ('{"keys": [{"key": "secret-0123456789", "role": "root"}]}', "keys.0.role"),
        ('{"keys": [{"key": "secret", "role": "read"}]}', "keys.0.key"),
        ('{"keys": [{"key": "secret-ä0123456789", "role": "read"}]}', "keys.0.key"),
        ('{"keys": [{"sha256": "SECRET", "role": "read"}]}', "keys.0.sha256"),
        ('{"keys": [{"key": "secret-0123456789", "role": "read", "secret": 1}]}', "keys.0"),
        ('{"keys": [], "secret-0123456789": "admin"}', "content"),
        ('{"keys": {"secret-0123456789": "admin"}}', "keys"),
    ],
)
def test_wrong_file_is_refused_at_the_start_without_its_content(tmp_path, catalog, content, said):
    path = tmp_path / "keys.json"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        Keys(Settings(catalog=catalog, keys_file=path))
    assert said in str(caught.value)
    assert "0123456789" not in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_empty_file_opens_to_nobody(tmp_path, catalog):
    path = tmp_path / "keys.json"
    path.write_text('{"keys": []}')
    keys = Keys(Settings(catalog=catalog, keys_file=path))
    assert keys.wanted
    assert keys.access(b"") is None


@pytest.mark.parametrize("name", OF_KEYS)
def test_settings_do_not_show_their_keys(catalog, name):
    settings = Settings(catalog=catalog, **{name: READ})
    for shown in (repr(settings), str(settings), str(settings.model_dump()), settings.model_dump_json()):
        assert READ not in shown


@pytest.mark.parametrize("keys", ["abc", "secret-01234567", "secret-01234567890,secret-ä123456789"])
@pytest.mark.parametrize("name", [*OF_KEYS, "max_wrong_keys"])
def test_key_that_is_too_short_or_no_ascii_is_refused_without_showing_it(catalog, monkeypatch, capsys, name, keys):
    monkeypatch.setenv(f"HUBLESS_{name.upper()}", keys)
    monkeypatch.setenv("HUBLESS_CATALOG", str(catalog))
    with pytest.raises(ValueError, match=name) as caught:
        Settings()
    assert "secret" not in str(caught.value)
    with pytest.raises(typer.Exit) as ended:
        serve()
    assert ended.value.exit_code == 2
    said = capsys.readouterr().err
    assert said.startswith(
        f"error: HUBLESS_{name.upper()}: {'Input should' if name == 'max_wrong_keys' else 'expected'} "
    )
    assert name == "max_wrong_keys" or keys not in said


def test_log_of_a_request_does_not_show_its_key(client, caplog):
    with caplog.at_level(logging.DEBUG):
        client.post(QUERY, json=ASK, headers=bearer(READ))
        client.post(QUERY, json=ASK, headers=bearer("wrong-0123456789"))
    assert "401" in caplog.text
    assert READ not in caplog.text
    assert "wrong-0123456789" not in caplog.text
