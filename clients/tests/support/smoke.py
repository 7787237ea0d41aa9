"""One run of all that leans on dependencies: builds, commands, a server, writes, clients, a restart.

A program for environments without the tools of tests: `ENVIRONMENT/bin/python clients/tests/support/smoke.py FOLDER`.
It makes the folder, and says what fails by an exception.
"""

import asyncio
import http.server
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from time import sleep

import httpx
import numpy as np
import pyarrow as pa

import hubless
from hubless import cli
from hubless_client import AsyncClient, Client, upload
from hubless_service.contract import contract

CONTRACT = Path(__file__).resolve().parents[3] / "docs" / "openapi.json"
BIN = Path(sys.executable).parent
DIM, TARGETS, BANK = 16, 300, 120
SECONDS = 300  # to start and to answer, on a busy machine too
COMMANDS = (["--help"], ["serve", "--help"], ["query", "--help"], ["bank", "--help"], ["bank", "check", "--help"])
PAGES = ("/docs", "/openapi.json", "/console/", "/metrics")
WRONG_JOB = "version: 1\ncollection: job\ntargets: [a, b\n"


def hubless_command(*arguments, code=0):
    """What a command prints, run in this process; it must end with this code, and with no error that is not ours."""
    printed, complained = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    sys.argv = ["hubless", *arguments]
    with redirect_stdout(printed), redirect_stderr(complained):
        ended = None
        try:
            cli.main()
        except SystemExit as exit:
            ended = exit.code
    assert ended == code, (arguments, ended, complained.getvalue())
    assert "unexpected" not in complained.getvalue(), complained.getvalue()
    printed.flush()
    return complained.getvalue() if code else printed.buffer.getvalue().decode()


class Embedding(http.server.BaseHTTPRequestHandler):
    """Embeds each text as the unit vector of its length, as OpenAI's endpoint answers."""

    def do_POST(self):
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        rows = [{"index": i, "embedding": np.eye(DIM)[len(text) % DIM].tolist()} for i, text in enumerate(texts)]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"data": rows}).encode())

    def log_message(self, *_):
        """Print nothing."""


@contextmanager
def encoder():
    """The description of an encoder that answers."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Embedding)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield {"type": "openai", "url": f"http://127.0.0.1:{server.server_port}/v1", "model": "length"}
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def served():
    """The address of `hubless serve` with two workers. At the end it must stop by itself and have logged no error."""
    command = [BIN / "hubless", "serve", "--catalog", "catalog", "--port", "0", "--workers", "2", "--json"]
    with Path("log").open("w") as log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as run:
        try:
            line = run.stdout.readline()
            assert line, Path("log").read_text()
            url = json.loads(line)["url"]
            with httpx.Client(base_url=url, timeout=SECONDS) as client:
                while client.get("/readyz").status_code != 200:
                    assert run.poll() is None, Path("log").read_text()
                    sleep(0.05)
            yield url
        finally:
            run.send_signal(signal.SIGTERM)
            try:
                code = run.wait(SECONDS)
            finally:
                run.kill()
    said = Path("log").read_text()
    assert code == 0, said
    assert not re.search(r"Traceback| WARNING | ERROR ", said), said


def build(description):
    random = np.random.default_rng(0)
    targets, bank = random.normal(size=(TARGETS, DIM)), random.normal(size=(BANK, DIM))
    np.save("targets.npy", targets.astype("f4"))
    np.save("bank.npy", bank.astype("f4"))
    rows = "\n".join(f"n{i},{i},2026-01-{1 + i % 28:02}" for i in range(TARGETS))
    Path("payload.csv").write_text(f"name,rank,day\n{rows}\n")
    Path("encoder.json").write_text(json.dumps(description))
    inputs = ["--targets", "targets.npy", "--query-bank", "bank.npy"]
    where = ["--catalog", "catalog", "--collection", "items"]
    more = ["--payload", "payload.csv", "--encoder", "encoder.json"]
    assert json.loads(hubless_command("build", *where, *inputs, *more, "--json"))
    assert json.loads(hubless_command("query", *where, "--vectors", "targets.npy", "--limit", "3", "--json"))
    assert "n1" in hubless_command("query", *where, "--text", "four", "--limit", "300")
    assert hubless_command("diagnose", *inputs)
    hubless_command("report", *inputs, "--output", "report.html")
    assert "<html" in Path("report.html").read_text("utf-8")
    Path("job.yaml").write_text(WRONG_JOB)
    wrong = hubless_command("reindex", "job.yaml", code=1)
    assert "job.yaml, line" in wrong, wrong
    for command in COMMANDS:
        assert "Usage" in hubless_command(*command)
    assert "--limit" in hubless_command("query", *where, "--limit", "many", code=2)
    assert hubless.offsets(targets, bank, metric="cosine").shape == (TARGETS,)
    return targets


def use(url, targets):
    for page in PAGES:
        assert httpx.get(url + page, timeout=SECONDS).status_code == 200, page
    with Client(url, timeout=SECONDS) as client:
        assert len(client.query("items", targets[0], limit=5, filter={"field": "rank", "lt": 100})) == 5
        assert len(client.query_batch("items", targets[:50], limit=5)) == 50
        assert client.query("items", text="four", limit=1, with_payload=True)[0].payload
        assert client.count("items", filter={"field": "day", "gte": "2026-01-10"})
        client.put("items", [9000], [targets[3].tolist()], [{"name": "new", "rank": 1, "day": "2026-02-01"}])
        assert client.query("items", targets[3], limit=2)[0].id in (3, 9000)
        client.create_collection("tables", DIM, "cosine", "string")
        ids = [f"a{i}" for i in range(20)]
        table = pa.table({"id": ids, "vector": targets[:20].astype("f4").tolist(), "price": [i / 2 for i in range(20)]})
        upload(client, "tables", table)
        assert client.count("tables") == 20
    assert asyncio.run(asked_together(url, targets)) == 40
    keeps_the_protocol(url)


async def asked_together(url, targets):
    async with AsyncClient(url, timeout=SECONDS) as client:
        return len(await asyncio.gather(*(client.query("items", row, limit=3) for row in targets[:40])))


def keeps_the_protocol(url):
    """Requests behind each other on one connection, one that asks before it sends its body, and rubbish."""
    host, port = httpx.URL(url).host, httpx.URL(url).port
    with socket.create_connection((host, port), SECONDS) as raw:
        raw.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
        wait_for(raw, b"HTTP/1.1 200", 2)
    body = json.dumps({"vector": [1.0] * DIM}).encode()
    head = "POST /v1/collections/items/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    with socket.create_connection((host, port), SECONDS) as raw:
        raw.sendall(f"{head}Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        wait_for(raw, b"100 Continue")
        raw.sendall(body)
        wait_for(raw, b"HTTP/1.1 200")
    with socket.create_connection((host, port), SECONDS) as raw:
        raw.sendall(b"\x16\x03\x01 rubbish\r\n\r\n")
        wait_for(raw, b"HTTP/1.1 400")


def wait_for(raw, words, times=1):
    got = b""
    while got.count(words) < times:
        got += (more := raw.recv(65536))
        assert more, got


def bare(text):
    """JSON without descriptions, of which older versions leave some out."""
    return json.loads(text, object_hook=lambda each: {**each, "description": None})


def main(folder):
    assert bare(contract()) == bare(CONTRACT.read_text("utf-8"))
    Path(folder).mkdir()
    os.chdir(folder)
    with encoder() as description:
        targets = build(description)
        with served() as url:
            use(url, targets)
        with served() as url, Client(url, timeout=SECONDS) as client:
            assert client.point("items", 9000).payload["name"] == "new"
            assert client.count("tables") == 20


if __name__ == "__main__":
    main(sys.argv[1])
