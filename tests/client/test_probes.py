"""Whether the server is alive and ready."""

import pytest
from support.wire import Server, problem

import hubless_client


def test_live_and_ready_are_true_with_the_servers_words(ask):
    assert ask(Server({"status": "ok"}), "live")
    health = ask(Server({"status": "ready", "collections": {"songs": {"status": "ready"}}}), "ready")
    assert health
    assert (health.status, health.collections) == ("ready", {"songs": {"status": "ready"}})


def test_ready_says_that_there_is_nothing_to_serve(ask):
    health = ask(Server({"status": "ready", "note": "the catalog is empty"}), "ready")
    assert health
    assert health.note == "the catalog is empty"


def test_ready_is_false_and_says_why_while_the_server_loads(ask):
    loading = {"songs": {"status": "loading"}}
    server = Server(problem(503, "not_ready", headers={"Retry-After": "1"}, collections=loading))
    health = ask(server, "ready")
    assert not health
    assert (health.status, health.detail, health.collections) == ("not_ready", "What is wrong", loading)
    assert (health.retry_after, health.request_id) == (1.0, "r-1")
    assert len(server.requests) == 1


def test_ready_raises_what_is_not_an_answer_to_the_question(ask):
    with pytest.raises(hubless_client.ApiNotFound):
        ask(Server(problem(404, "not_found")), "ready")


def test_live_and_ready_say_yes(client):
    assert client.live()
    health = client.ready()
    assert health
    assert set(health.collections) == {"words", "numbers"}
