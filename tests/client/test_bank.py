"""Query banks that are put through the client."""

import json

import httpx
import pytest
from support import small, writing
from support.serving import serving_catalog
from support.wire import Server, sent

from hubless_client import BankInfo, CannotSend, Client

ANSWER = {
    "queries": 2,
    "stored": 2,
    "coverage": None,
    "correction": "auto",
    "frozen_share": 0.0,
    "waiting": {"queries": 1, "mode": "append", "fit": True},
    "work": None,
    "collection": "songs",
    "version": "v1",
}


def test_vectors_go_as_bytes_with_the_options_in_the_url(ask):
    requests = []

    def server(request):
        requests.append(request)
        return httpx.Response(202, json=ANSWER)

    found = ask(server, "put_bank", "songs", [[1, 2], [3, 4]], mode="append", fit=False, parameters={"k": 3})
    assert (found, found.fitted) == (BankInfo(**ANSWER), False)
    [request] = requests
    assert (request.method, request.url.path) == ("PUT", "/v1/collections/songs/bank")
    assert dict(request.url.params) == {"dim": "2", "mode": "append", "fit": "false", "parameters": '{"k": 3}'}
    assert (request.headers["content-type"], len(request.content)) == ("application/octet-stream", 16)


def test_texts_go_as_json(ask):
    server = Server(ANSWER)
    ask(server, "put_bank", "songs", texts=["a", "b"], correction="csls", timeout_ms=5)
    assert sent(server)[2] == {"texts": ["a", "b"], "correction": "csls", "timeout_ms": 5}


@pytest.mark.parametrize("given", [{}, {"vectors": [[1]], "texts": ["a"]}, {"texts": "ab"}, {"vectors": [[1], [1, 2]]}])
def test_wrong_bank_is_not_sent(ask, given):
    server = Server(ANSWER)
    with pytest.raises(CannotSend):
        ask(server, "put_bank", "songs", **given)
    assert not server.requests


def test_server_takes_what_the_client_sends(tmp_path):
    writing.build(tmp_path)
    with serving_catalog(tmp_path, hubness=False) as url, Client(url) as client:
        waiting = client.put_bank(writing.NAME, small.targets()[:5], fit=False, correction="csls")
        assert json.dumps(waiting.waiting) == '{"queries": 5, "mode": "replace", "fit": false, "sampled": null}'
        assert client.bank(writing.NAME).waiting == waiting.waiting
