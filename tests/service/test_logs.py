"""Log lines as JSON, and which requests get one."""

import asyncio
import json
import logging
import os
import re
import subprocess
import sys

import pytest
from support.catalogs import DIM
from support.processes import started

from hubless_service.http.trace import Trace
from hubless_service.observing.logs import MOST, JsonFormatter, LineHandler
from hubless_service.observing.metrics import Metrics
from hubless_service.observing.middleware import Observer
from hubless_service.processes.shared import alone

QUERY = "/v1/collections/words/query"
SERVE = [sys.executable, "-c", "import typer; from hubless_service.command import serve; typer.run(serve)"]


def requests(caplog):
    return [record for record in caplog.records if record.name == "hubless.requests"]


def test_line_of_a_request_as_json_has_its_fields_and_nothing_that_was_asked(serve, words, caplog):
    with serve({"words": words}) as (client, _), caplog.at_level("INFO", "hubless.requests"):
        headers = {"authorization": "Bearer hidden", "x-request-id": "mine"}
        client.post(QUERY, json={"vector": [0.1234567] * DIM, "with": ["payload"]}, headers=headers)
        client.get("/metrics")  # which waits for the lines before it
        text = JsonFormatter().format(requests(caplog)[-1])
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
    assert "0.1234567" not in text


class FollowedByAnother(float):
    """A time that another stage is added after, while it is formatted: as by a search whose client has hung up."""

    def __new__(cls, seconds, trace):
        made = super().__new__(cls, seconds)
        made.trace = trace
        return made

    def __rmul__(self, factor):
        self.trace.add("payload", 0.5)
        return factor * float(self)


async def ended(trace):
    metrics = Metrics(alone())
    Observer(metrics).end({"method": "POST", "raw_path": b"/"}, 499, trace)
    metrics.catch_up()


def test_stage_that_ends_while_its_request_is_logged_spoils_nothing(caplog):
    trace = Trace("mine")
    trace.seconds["search"] = FollowedByAnother(0.25, trace)
    with caplog.at_level("INFO", "hubless.requests"):
        asyncio.run(ended(trace))
    assert [record.msg.fields["stages"] for record in requests(caplog)] == [{"search": 250.0}]


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


@pytest.fixture
def piped():
    """A logger whose lines go to a pipe, its handler, and the two ends of the pipe."""
    reader, writer = os.pipe()
    handler = LineHandler(writer)
    logger = logging.Logger("piped")
    logger.addHandler(handler)
    with os.fdopen(reader) as lines:
        yield logger, handler, lines, writer
    os.close(writer)


def test_lines_that_nobody_reads_are_dropped_and_counted_and_their_number_is_told_later(piped):
    logger, handler, lines, _ = piped
    dropped = []
    handler.on_drop = lambda: dropped.append(1)
    count = 4 * MOST  # as many as may wait, and as many again, have been taken to be written
    for number in range(count):
        logger.info("line %d", number)
    assert len(dropped) > MOST
    kept, told = [], 0
    while len(kept) < count - len(dropped) or told < len(dropped):
        if len(kept) == count - len(dropped):
            logger.info("line %d", count)  # goes with the number of those that were dropped since
            count += 1
        line = lines.readline()
        if line.endswith(" log lines were dropped, as nobody read them\n"):
            told += int(line.split()[0])
        else:
            kept.append(int(line.split()[1]))
    assert told == len(dropped)
    assert kept == sorted(kept)


def test_line_that_cannot_be_formatted_is_told_and_the_next_is_written(piped):
    logger, _, lines, _ = piped
    logger.info("%d lines", "no number of")
    logger.info("next")
    assert lines.readline() == "a line could not be formatted: '%d lines'\n"
    assert lines.readline() == "next\n"


def test_reader_that_wants_no_more_just_now_gets_the_rest_when_it_reads_on(piped):
    """As a terminal that another program has set to non-blocking."""
    logger, _, lines, writer = piped
    os.set_blocking(writer, False)
    for number in range(2000):
        logger.info("%d %s", number, 50 * "x")
    assert [int(lines.readline().split()[0]) for _ in range(2000)] == list(range(2000))


def test_every_line_of_the_server_is_json_where_it_is_told_so(catalog):
    command = [*SERVE, "--catalog", str(catalog), "--port", "0", "--workers", "2"]
    environment = os.environ | {"HUBLESS_LOG_FORMAT": "json"}
    with started(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if json.loads(line).get("message", "").startswith("listening"):
                break
        process.terminate()
        rest = process.communicate(timeout=60)[1].splitlines()
    assert all(json.loads(line)["logger"] for line in rest)
