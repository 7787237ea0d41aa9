"""HTTP written and read by hand, for what no client library sends."""

import http.client
import re
import socket
from contextlib import suppress
from dataclasses import dataclass

import httpx
import orjson

PATIENCE = 60
"""Seconds until a test gives up on an answer, or on the end of a connection."""


@dataclass(frozen=True)
class Answer:
    """One answer, as it stood on the connection."""

    status: int
    headers: dict
    body: bytes

    @property
    def code(self):
        if self.headers.get("content-type") != "application/problem+json":
            return None
        return orjson.loads(self.body)["code"]


def connect(url, buffer=None):
    """A connection to a server; with a small receive buffer, if a size is given."""
    url = httpx.URL(url)
    connection = socket.socket(socket.AF_INET6 if ":" in url.host else socket.AF_INET)
    if buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    connection.settimeout(PATIENCE)
    connection.connect((url.host, url.port))
    return connection


def read_to_end(connection):
    """All bytes until the server ends the connection, in whatever way."""
    received = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(2**16):
            received += part
    return received


def send(connection, data):
    """Send as much as the server takes before it ends the connection."""
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(data)


def ask(connection, data):
    """Send one request, and read its answer; the status."""
    connection.sendall(data)
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    answer.read()
    return answer.status


def exchange(url, *parts):
    """Send some bytes, part by part, and return the answers until the server ends the connection."""
    with connect(url) as connection:
        for part in parts:
            send(connection, part)
        return answers(read_to_end(connection))


def answers(received):
    """The answers that some bytes hold; each has a length, or it is chunked."""
    found = []
    while received:
        head, separator, rest = received.partition(b"\r\n\r\n")
        assert separator, received
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        status = int(re.fullmatch(r"HTTP/1\.1 (\d{3}) .*", first)[1])
        length = int(headers["content-length"])
        assert len(rest) >= length, received
        found.append(Answer(status, headers, rest[:length]))
        received = rest[length:]
    return found


def statuses(url, sent, patience):
    """What the server answers, until it ends the connection or waits for more for so many seconds."""
    received = b""
    with connect(url) as connection:
        send(connection, sent)
        connection.settimeout(patience)
        with suppress(TimeoutError, ConnectionResetError):
            while part := connection.recv(2**16):
                received += part
    return [int(status) for status in re.findall(rb"(?m)^HTTP/1\.1 (\d{3}) ", received) if status != b"100"]


def request(method, path, *headers, body=b"", host=True):
    """The bytes of a request; the body without a header about it."""
    lines = [f"{method} {path} HTTP/1.1", *(["Host: x"] if host else []), *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


LIVE = request("GET", "/livez")
LAST = request("GET", "/livez", "Connection: close")
