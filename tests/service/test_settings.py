import subprocess
from pathlib import Path

import pytest
from pydantic import ValidationError

from hubless_service.settings import Settings
from hubless_service.variables import NO_LONGER, unread

ROOT = Path(__file__).parents[2]
NOT_READ = {"HUBLESS_KEY", "HUBLESS_PROT"}
"""Of tests, and misspelt, in the changelog."""
FIRST = "DEFAULT_LIMIT DRIFT_SAMPLE HUBNESS_SHARE LOG_SHARE MAX_FILTER_DEPTH MAX_TEXT MILVUS_THREADS OPENMP_THREADS"
"""Settings of the first version."""


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for name in Settings.model_fields:
        monkeypatch.delenv(f"HUBLESS_{name.upper()}", raising=False)


def test_catalog_is_the_only_setting_that_must_be_given(tmp_path):
    assert [name for name, field in Settings.model_fields.items() if field.is_required()] == ["catalog"]
    with pytest.raises(ValidationError, match="catalog"):
        Settings()
    assert Settings(catalog=tmp_path).host == "127.0.0.1"


def test_settings_come_from_the_environment_and_arguments_go_before_it(monkeypatch, tmp_path):
    monkeypatch.setenv("HUBLESS_CATALOG", str(tmp_path))
    monkeypatch.setenv("HUBLESS_KEEP_VERSIONS", "50")
    monkeypatch.setenv("HUBLESS_LOG_LEVEL", "error")
    settings = Settings(keep_versions=60)
    assert (settings.catalog, settings.keep_versions, settings.log_level) == (tmp_path, 60, "error")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("keep_versions", 0),
        ("search_threads", 0),
        ("trusted_proxies", "127.0.0.1, *"),
        ("trusted_proxies", "10.0.0.1/8"),
    ],
)
def test_impossible_value_is_refused(tmp_path, name, value):
    with pytest.raises(ValidationError, match=name):
        Settings(catalog=tmp_path, **{name: value})


def test_limits_hold_for_queries(serve, words, vector):
    query, batch = "/v1/collections/words/query", "/v1/collections/words/query/batch"
    with serve({"words": words}, usual_limit=3, max_depth=4) as (client, _):
        body = {"vector": vector.tolist()}
        assert len(client.post(query, json={**body, "limit": 2, "skip": 2}).json()["hits"]) == 2
        refused = client.post(query, json={**body, "limit": 2, "skip": 3}).json()
        assert refused["expected"] == "a whole number from 0 to 2 beside this limit"
        assert len(client.post(query, json=body).json()["hits"]) == 3
        assert len(client.post(query, json={**body, "limit": 5}).json()["hits"]) == 5
        binary = client.post(
            batch, content=vector.tobytes() * 1001, headers={"content-type": "application/octet-stream"}
        )
        assert binary.json()["expected"] == "1 to 1000 queries"


def test_variables_of_all_documents_and_programs_are_known():
    listed = subprocess.run(
        [
            "git",
            "grep",
            "-hoE",
            r"\bHUBLESS_[A-Z_]+[A-Z]\b",
            "--",
            "*.md",
            "*.yml",
            "*.yaml",
            "clients",
            "docker",
            "deploy",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = set(listed.stdout.split()) - NOT_READ - {f"HUBLESS_{name}" for name in NO_LONGER}
    assert {"HUBLESS_CATALOG", "HUBLESS_URL", "HUBLESS_MILVUS_URI"} <= names
    assert unread(names) == []


def test_no_setting_is_misspelt_in_small_letters_and_kubernetes_is_left_alone():
    kubernetes = ["HUBLESS_SERVICE_HOST", "HUBLESS_SERVICE_PORT_HTTP", "HUBLESS_PORT_8000_TCP_ADDR"]
    assert unread(["hubless_port", "HUBLESS_MILVUS_URI", "PATH", "HUB_PORT", *kubernetes]) == []


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("HUBLESS_PROT", "HUBLESS_PORT"),
        ("HUBLES_PORT", "HUBLESS_PORT"),
        ("HUBBLESS_ADMIN_KEYS", "HUBLESS_ADMIN_KEYS"),
        ("HUBLESS_TIMEOUT_MS", "HUBLESS_DEFAULT_TIMEOUT_MS"),
        ("hubless_max_bodybytes", "HUBLESS_MAX_BODY_BYTES"),
        ("HUBLESS_APIKEY", "HUBLESS_API_KEY"),
    ],
)
def test_misspelt_variable_is_told_with_the_nearest(name, nearest):
    assert unread([name]) == [f"nothing reads the variable {name}: did you mean {nearest}?"]


@pytest.mark.parametrize("name", sorted({*NO_LONGER, *FIRST.split()}))
def test_setting_of_an_old_version_is_told_with_what_holds_in_its_place(name):
    assert unread([f"HUBLESS_{name}"]) == [f"nothing reads the variable HUBLESS_{name}: {NO_LONGER[name]}"]
    assert not (set(NO_LONGER) & {field.upper() for field in Settings.model_fields})
