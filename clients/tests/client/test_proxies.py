"""Proxies and certificates of the environment: which is used, what its failure says, and none before this machine."""

import socket

import httpx
import pytest
from support.proxies import DECISIONS, proxies_set
from support.wire import ANSWER

from hubless_client import ApiError, AsyncClient, CannotSend, Client, ConnectionFailed, Retries
from hubless_client.proxies import proxy_of


@pytest.fixture
def dead():
    """The address of a port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    return f"127.0.0.1:{port}"


@pytest.mark.parametrize(("url", "environment", "expected"), DECISIONS)
def test_environment_says_the_proxy_and_never_for_this_machine(monkeypatch, url, environment, expected):
    proxies_set(monkeypatch, environment)
    found = proxy_of(httpx.URL(url))
    assert (found and (found.variable, found.address)) == expected


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
@pytest.mark.parametrize("address", ["http://user:hunter2@{dead}", "user:hunter2@{dead}"])
def test_failure_behind_a_proxy_names_it_and_its_variable_without_the_password(monkeypatch, dead, variable, address):
    proxies_set(monkeypatch, {variable: address.format(dead=dead)})
    client = Client("http://hubless.invalid", retries=Retries(0))
    with client, pytest.raises(ConnectionFailed, match=rf"the proxy (http://)?{dead} of {variable}: ") as caught:
        client.collections()
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(client)


def test_answer_of_a_proxy_names_the_proxy(monkeypatch, peer):
    peer.answer = httpx.Response(403, text="not from here")
    proxies_set(monkeypatch, {"HTTP_PROXY": peer.url})
    with Client("http://hubless.invalid") as client, pytest.raises(ApiError, match=f"{peer.url} of HTTP_PROXY"):
        client.collections()
    peer.answer = httpx.Response(200, text="<html>")
    with Client("http://hubless.invalid") as client, pytest.raises(Exception, match=f"{peer.url} of HTTP_PROXY"):
        client.collections()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("socks5://user:hunter2@127.0.0.1:9", r"ALL_PROXY: socks5://127.0.0.1:9 needs .*pip install 'httpx\[socks\]'"),
        ("ftp://user:hunter2@proxy.test", "ALL_PROXY: expected a proxy such as .* got ftp://proxy.test"),
        ("http://user:hunter2@proxy.test:port", "ALL_PROXY: expected a proxy such as .* got http://proxy.test:port"),
        ("http://", "ALL_PROXY: expected a proxy such as"),
    ],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_proxy_that_cannot_be_used_is_named_when_the_client_is_made(monkeypatch, kind, address, said):
    proxies_set(monkeypatch, {"ALL_PROXY": address})
    with pytest.raises(CannotSend, match=said) as caught:
        kind("http://hubless.test")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("address", ["http://{dead}", "socks5://{dead}", "nonsense://"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_server_on_this_machine_is_asked_without_the_proxy(monkeypatch, ask_at, peer, dead, address, host):
    proxies_set(monkeypatch, dict.fromkeys(("HTTP_PROXY", "ALL_PROXY"), address.format(dead=dead)))
    assert ask_at(peer.url.replace("127.0.0.1", host), "query", "songs", [1.0])[0].id == ANSWER["hits"][0]["id"]


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_read_are_named_if_they_are_needed(monkeypatch, tmp_path, content):
    file = tmp_path / "trusted.pem"
    if content:
        file.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with pytest.raises(CannotSend, match="SSL_CERT_FILE: expected readable certificates"):
        Client("https://hubless.test")
    Client("http://hubless.test").close()


def test_https_to_a_server_without_it_says_so(peer):
    with (
        Client(peer.url.replace("http:", "https:"), retries=Retries(0), timeout=10) as client,
        pytest.raises(ConnectionFailed, match="does its address begin with http://"),
    ):
        client.collections()


@pytest.mark.parametrize(
    "url", ["localhost:8000", "hubless.test", "ftp://hubless.test", "http://", "http://a.test/?x=1", "http://a.test/#x"]
)
def test_base_url_of_another_form_is_refused_when_the_client_is_made(url):
    with pytest.raises(CannotSend, match="base_url: expected http:// or https:// with a host"):
        Client(url)


def test_base_url_keeps_its_path_behind_a_proxy(monkeypatch, peer):
    proxies_set(monkeypatch, {"HTTP_PROXY": peer.url})
    with Client("http://hubless.invalid/search/v2/") as client:
        client.query("songs", [1.0])
    assert peer.paths == ["http://hubless.invalid/search/v2/v1/collections/songs/query"]
