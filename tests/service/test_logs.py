"""Log lines as JSON, and which requests get one."""

import json
import logging
import re
import subprocess
import sys
import time

import pytest
from support.catalogs import DIM

from hubless_service.observing.logs import JsonFormatter

QUERY = "/v1/collections/words/query"
SERVE = [sys.executable, "-c", "import typer; from hubless_service.command import serve; typer.run(serve)"]


def requests(caplog):
    return [record for record in caplog.records if record.name == "hubless.requests"]


def wait_for(caplog, path):
    """The line of a request that comes after all others; a line comes after its answer."""
    while not (found := [record for record in requests(caplog) if record.fields["path"] == path]):
        time.sleep(0.005)
    return found[0]


def test_line_of_a_request_as_json_has_its_fields_and_nothing_that_was_asked(serve, words, caplog):
    with serve({"words": words}) as (client, _), caplog.at_level("INFO", "hubless.requests"):
        headers = {"authorization": "Bearer hidden", "x-request-id": "mine"}
        client.post(QUERY, json={"vector": [0.125] * DIM}, headers=headers)
        text = JsonFormatter().format(wait_for(caplog, QUERY))
    line = json.loads(text)
    assert {name: line[name] for name in ("level", "logger", "method", "path", "status", "request_id", "code")} == {
        "level": "info",
        "logger": "hubless.requests",
        "method": "POST",
        "path": QUERY,
        "status": 200,
        "request_id": "mine",
        "code": None,
    }
    assert line["route"] == "/v1/collections/{collection}/query"
    assert set(line["stages"]) == {"parse", "queue", "search", "payload", "serialise"}
    assert sum(line["stages"].values()) <= line["ms"]
    assert "hidden" not in text
    assert "0.125" not in text


def test_requests_that_fail_are_logged_however_few_others_are(serve, words, caplog):
    with serve({"words": words}, log_share=0) as (client, _), caplog.at_level("INFO", "hubless.requests"):
        client.post(QUERY, json={"text": "amber"})
        client.post(QUERY, json={"text": "zzz"})
        client.get("/nowhere")
        wait_for(caplog, "/nowhere")
    assert [record.fields["status"] for record in requests(caplog)] == [422, 404]


def test_exception_stands_in_the_line_with_its_message():
    try:
        raise ValueError("reason")
    except ValueError:
        record = logging.LogRecord("hubless", logging.ERROR, "", 0, "it %s", ("broke",), sys.exc_info())
    text = JsonFormatter().format(record)
    assert "\n" not in text
    line = json.loads(text)
    assert (line["message"], line["level"]) == ("it broke", "error")
    assert re.search(r"Traceback[\s\S]*ValueError: reason$", line["exception"])


@pytest.mark.parametrize("workers", ["1", "2"])
def test_every_line_of_the_server_is_json_where_it_is_told_so(catalog, workers):
    command = [*SERVE, "--catalog", str(catalog), "--port", "0", "--workers", workers, "--log-format", "json"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        for line in process.stderr:
            if json.loads(line).get("message", "").startswith("listening"):
                break
        process.terminate()
        rest = process.communicate(timeout=60)[1].splitlines()
    finally:
        process.kill()
        process.communicate()
    assert all(json.loads(line)["logger"] for line in rest)
