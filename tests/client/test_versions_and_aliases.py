"""Versions and aliases: the calls that change something."""

from time import sleep

import httpx
import pytest
from support import versions
from support.serving import serving_catalog
from support.wire import ALIAS, Server, sent

import hubless_client
from hubless_client import Client


def test_changes_say_what_they_expect(ask):
    server = Server(ALIAS)
    ask(server, "set_alias", "a", "songs", if_match='"3"')
    assert sent(server) == ("PUT", "/v1/aliases/a", {"collection": "songs"})
    assert server.request.headers["If-Match"] == '"3"'
    server = Server(ALIAS)
    ask(server, "set_alias", "a", "songs")
    assert "If-Match" not in server.request.headers
    server = Server(ALIAS)
    ask(server, "remove_alias", "a", if_match="*")
    assert (server.request.method, server.request.headers["If-Match"]) == ("DELETE", "*")
    server = Server({"versions": [], "collection": "songs"})
    ask(server, "activate", "songs", "v/1")
    assert server.request.url.raw_path == b"/v1/collections/songs/versions/v%2F1/activate"


def test_change_of_an_alias_is_not_sent_twice(ask):
    server = Server(httpx.ConnectError("lost"), ALIAS)
    with pytest.raises(hubless_client.ConnectionFailed):
        ask(server, "set_alias", "a", "songs")


def test_versions_are_activated_and_aliases_changed(tmp_path):
    first, second = versions.build(tmp_path, 2)
    with serving_catalog(tmp_path, poll_seconds=3600) as base_url, Client(base_url) as client:
        listed = client.versions(versions.NAME)
        assert [(each.version, each.current, each.state) for each in listed] == [
            (first, False, "stored"),
            (second, True, "served"),
        ]
        assert listed[0].created.tzinfo is not None
        assert [each.current for each in client.activate(versions.NAME, first)] == [True, False]
        while client.collection(versions.NAME).version != first:
            sleep(0.01)
        with pytest.raises(hubless_client.ApiVersionNotFound):
            client.activate(versions.NAME, "..")
        alias = client.set_alias("a", versions.NAME)
        assert client.aliases() == [alias] == [client.alias("a")]
        assert client.query("a", [1.0] * 8).collection == versions.NAME
        assert client.collection("a").aliases == ("a",)
        assert client.collection("a").versions == (first, second)
        with pytest.raises(hubless_client.ApiPreconditionRequired):
            client.set_alias("a", versions.NAME)
        moved = client.set_alias("a", versions.NAME, if_match=alias.etag)
        with pytest.raises(hubless_client.ApiPreconditionFailed):
            client.remove_alias("a", if_match=alias.etag)
        assert client.remove_alias("a", if_match=moved.etag) == moved
        with pytest.raises(hubless_client.ApiAliasNotFound):
            client.alias("a")
