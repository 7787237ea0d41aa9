"""The way to servers over HTTP: the proxy of the environment, and what its failure says."""

import pytest
from support.proxies import DECISIONS, proxies_set

from hubless.encoders.endpoint import Endpoint
from hubless.encoders.http import proxy_of
from hubless.errors import EncoderFailed, InputError


def endpoint(url):
    return Endpoint.load(".", {"type": "openai", "url": url, "model": "words", "dim": 3, "retries": 0})


@pytest.mark.parametrize(("url", "environment", "expected"), DECISIONS)
def test_environment_says_the_proxy_and_never_for_this_machine(monkeypatch, url, environment, expected):
    proxies_set(monkeypatch, environment)
    found = proxy_of(url)
    assert (found and (found.variable, found.address)) == expected


def test_failure_behind_a_proxy_names_it_and_its_variable_without_the_password(monkeypatch):
    proxies_set(monkeypatch, {"https_proxy": "http://me:hunter2@127.0.0.1:1"})
    with pytest.raises(EncoderFailed, match=r"by the proxy http://127\.0\.0\.1:1 of https_proxy") as caught:
        endpoint("https://models.invalid/v1").encode(["amber"])
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("socks5://me:hunter2@127.0.0.1:9", r"ALL_PROXY: expected what SOCKS needs: pip install 'httpx\[socks\]'"),
        ("ftp://me:hunter2@proxy.test", "ALL_PROXY: expected a proxy such as http://host:port, got ftp://proxy.test"),
        ("http://proxy.test:port", "ALL_PROXY: expected a proxy such as http://host:port, got http://proxy.test"),
    ],
)
def test_proxy_that_cannot_be_used_is_named_when_the_encoder_is_made(monkeypatch, address, said):
    proxies_set(monkeypatch, {"ALL_PROXY": address})
    with pytest.raises(InputError, match=said) as caught:
        endpoint("http://models.test/v1")
    assert "hunter2" not in str(caught.value)


def test_certificates_that_cannot_be_read_are_named(monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", "/not/there.pem")
    with pytest.raises(InputError, match=r"SSL_CERT_FILE: expected readable certificates, got /not/there\.pem"):
        endpoint("https://models.test/v1")
