"""Behind nginx with TLS and HTTP/2, as docs/security.md wants it beyond one machine."""

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import sleep

import httpx
import numpy as np
import pytest
from support import catalogs
from support.processes import free_port
from support.raw import connect, read_to_end, request, send
from support.server_process import resources, served

PROXY, OPENSSL, CURL = (
    shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin"),
    *map(shutil.which, ["openssl", "curl"]),
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PROXY, reason="needs nginx (apt-get install nginx-light)"),
    pytest.mark.skipif(not (OPENSSL and CURL), reason="needs openssl and curl"),
]
MIB = 2**20
KEY = "a-key-of-somebody"
QUERY, BATCH, COUNT = (f"/v1/collections/words/{name}" for name in ("query", "query/batch", "count"))

CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    client_max_body_size 0;
    large_client_header_buffers 16 128k;
    upstream hubless {{
        server {upstream};
        keepalive 16;
        keepalive_timeout 30s;  # shorter than HUBLESS_KEEP_ALIVE_SECONDS
    }}
    server {{
        listen 127.0.0.1:{port} ssl http2;
        ssl_certificate {folder}/certificate.pem;
        ssl_certificate_key {folder}/key.pem;
        keepalive_requests 100000;
        location / {{
            proxy_pass http://hubless;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto $scheme;
            proxy_request_buffering {buffering};
        }}
    }}
}}
"""


class Proxied:
    """A server, and the proxy before it: its address, and what a client needs to trust it."""

    def __init__(self, server, port, folder):
        self.server, self.port = server, port
        self.url = f"https://127.0.0.1:{port}"
        self.trust = ssl.create_default_context(cafile=folder / "certificate.pem")
        self.certificate = folder / "certificate.pem"

    def client(self, **headers):
        return httpx.Client(base_url=self.url, verify=self.trust, headers={"X-API-Key": KEY, **headers}, timeout=120)

    def connect(self):
        """A connection with TLS, and nothing said yet."""
        return self.trust.wrap_socket(connect(self.url), server_hostname="127.0.0.1")


@contextmanager
def proxied(server, folder, buffering):
    folder.mkdir()
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", folder / "key.pem", "-out", folder / "certificate.pem"]
    subprocess.run([OPENSSL, "req", "-x509", "-days", "2", *curve, *subject, *files], check=True, capture_output=True)
    port, upstream = free_port(), httpx.URL(server.url)
    text = CONFIGURATION.format(
        folder=folder, port=port, upstream=f"{upstream.host}:{upstream.port}", buffering=buffering
    )
    (folder / "nginx.conf").write_text(text)
    process = subprocess.Popen([PROXY, "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "error.log"])
    try:
        found = Proxied(server, port, folder)
        while True:
            assert process.poll() is None, (folder / "error.log").read_text()
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", port)) == 0:
                    break
        yield found
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module", params=["on", "off"], ids=["bodies are buffered", "bodies stream through"])
def proxy(request, catalog, tmp_path_factory):
    folder = tmp_path_factory.mktemp("nginx") / "proxy"
    patient = {"max_waiting": 1_000_000, "default_timeout_ms": 60_000}
    with served(catalog, admin_keys=KEY, max_wrong_keys=5, **patient) as server:
        with proxied(server, folder, request.param) as found:
            yield found
        assert httpx.get(f"{server.url}/livez").status_code == 200
    assert not [line for line in server.log if "Traceback" in line or " ERROR " in line or "/v1/aliases" in line]


def test_many_requests_over_kept_connections(proxy, attack):
    def ask(_):
        with proxy.client() as client:
            return [client.post(QUERY, json={"text": "amber", "limit": 3}).status_code for _ in range(100)]

    with ThreadPoolExecutor(10) as pool:
        statuses = [status for found in pool.map(ask, range(10)) for status in found]
    attack("through nginx with TLS: requests over kept connections", len(statuses))
    assert set(statuses) == {200}


def test_large_bodies_and_answers_are_those_of_the_server(proxy, attack):
    rows = np.random.default_rng(1).normal(size=(1000, catalogs.DIM)).astype("<f4")
    queries = [{"vector": row.tolist(), "limit": 100, "with": ["payload"]} for row in rows]
    content = json.dumps({"queries": queries}).encode()
    content += b" " * (15 * MIB - len(content))
    asked = {"content": content, "headers": {"X-API-Key": KEY, "Content-Type": "application/json"}}
    direct = httpx.post(f"{proxy.server.url}{BATCH}", **asked, timeout=120)
    with proxy.client() as client:
        found = [client.post(BATCH, **asked) for _ in range(3)]
    attack("through nginx with TLS: bodies of 15 MiB", len(found))
    assert direct.status_code == 200
    assert len(direct.content) > 10 * MIB
    assert all(answer.json() == direct.json() for answer in found)


def test_refusals_of_the_server_come_through(proxy, attack):
    asked = [
        (413, "body_too_large", lambda client: client.post(BATCH, content=b" " * (17 * MIB))),
        (413, "body_too_large", lambda client: client.post(COUNT, content=(b" " * MIB for _ in range(4)))),
        (431, "head_too_large", lambda client: client.get("/livez", headers={"X": "x" * 70_000})),
        (431, "head_too_large", lambda client: client.get("/livez", headers=[(f"X-{n}", "y") for n in range(120)])),
        (404, "not_found", lambda client: client.get("/nowhere")),
    ]
    attack("through nginx with TLS: refusals", len(asked))
    for status, code, ask in asked:
        with proxy.client(**{"Content-Type": "application/json"}) as client:
            answer = ask(client)
            assert (answer.status_code, answer.json()["code"]) == (status, code)
            assert client.get("/livez").status_code == 200


def test_wrong_keys_count_for_the_address_of_the_client_which_it_cannot_choose(proxy, attack):
    """nginx adds the address to what the client claims."""
    attack("through nginx with TLS: wrong keys", 14)

    def status(source, key, **headers):
        transport = httpx.HTTPTransport(verify=proxy.trust, local_address=source)
        with httpx.Client(base_url=proxy.url, transport=transport) as client:
            return client.get("/v1/collections", headers={"X-API-Key": key, **headers}).status_code

    source = f"127.0.1.{proxy.port % 250 + 1}"
    for number in range(5):
        assert status(source, f"wrong-{number}-0123456789") == 401
    assert status(source, KEY) == 429
    for number in range(6):
        assert status(source, KEY, **{"X-Forwarded-For": f"192.0.2.{number}"}) == 429
    assert status("127.0.2.1", KEY) == 200
    assert any(f"address {source} has tried" in line for line in proxy.server.log)


def test_hang_ups_leave_nothing_behind(proxy, attack):
    body = json.dumps({"queries": [{"text": "amber"}] * 1000}).encode()
    head = (f"X-API-Key: {KEY}", "Content-Type: application/json", f"Content-Length: {len(body)}")
    whole = request("POST", BATCH, *head, body=body)
    idle = resources(proxy.server.pid)["descriptors"]
    for number in range(200):
        with proxy.connect() as connection:
            connection.sendall(whole[: len(whole) * (number % 5 + 1) // 5])
            if number % 2:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    attack("through nginx with TLS: hang-ups", 200)
    with proxy.client() as client:
        assert client.post(QUERY, json={"text": "amber"}).status_code == 200
        while client.get("/metrics").text.count("hubless_waiting_queries 0.0") != 1:
            sleep(0.01)
    while resources(proxy.server.pid)["descriptors"] > idle + 16:  # those that nginx keeps
        sleep(0.01)


SMUGGLED = request("GET", "/v1/aliases", f"X-API-Key: {KEY}")
CHUNKED = "Transfer-Encoding: chunked"
SMUGGLING = {
    "both framings": request("POST", COUNT, "Content-Length: 5", CHUNKED, body=b"0\r\n\r\n" + SMUGGLED),
    "two lengths": request("POST", COUNT, "Content-Length: 0", f"Content-Length: {len(SMUGGLED)}", body=SMUGGLED),
    "a coding like chunked": request("POST", COUNT, "Transfer-Encoding: xchunked", body=SMUGGLED),
    "a tab before the coding": request("POST", COUNT, "Transfer-Encoding:\tchunked", body=b"0\r\n\r\n")[:-4]
    + f"{len(SMUGGLED):x}\r\n".encode()
    + SMUGGLED
    + b"\r\n0\r\n\r\n",
    "a name with a space": request("POST", COUNT, f"Content-Length : {len(SMUGGLED)}", body=SMUGGLED),
    "a request in a chunk extension": request(
        "POST", COUNT, CHUNKED, body=b"0;" + SMUGGLED.replace(b"\r\n", b";") + b"\r\n\r\n"
    ),
    "a request in the trailers": request("POST", COUNT, CHUNKED, body=b"0\r\n" + SMUGGLED),
    "a request in a body": request("POST", COUNT, f"Content-Length: {len(SMUGGLED)}", body=SMUGGLED),
    "a request in a header": request("GET", "/livez", "X: " + SMUGGLED.decode().replace("\r\n", "\n")),
}


@pytest.mark.parametrize("name", SMUGGLING)
def test_request_within_a_request_never_reaches_the_server(proxy, attack, name):
    attack("through nginx with TLS: smuggled requests", 1)
    with proxy.connect() as connection:
        send(connection, SMUGGLING[name] + request("GET", "/livez", "Connection: close"))
        read_to_end(connection)
    assert not any("/v1/aliases" in line for line in proxy.server.log)


def curl(proxy, *arguments):
    command = [CURL, "--silent", "--show-error", "--http2", "--cacert", proxy.certificate, "-H", f"X-API-Key: {KEY}"]
    return subprocess.run([*command, *arguments], check=True, capture_output=True, text=True).stdout


def test_http2_in_front_many_at_once_over_one_connection(proxy, attack, tmp_path):
    body, configuration = tmp_path / "body.json", tmp_path / "curl"
    body.write_text(json.dumps({"queries": [{"text": "amber"}] * 200}) + " " * MIB)
    told = 'write-out = "%{http_version} %{http_code}\\n"'
    lines = [f'url = "{proxy.url}{BATCH}"\noutput = "/dev/null"' for _ in range(60)]
    configuration.write_text("\n".join([told, *lines]))
    found = curl(
        proxy,
        "--parallel",
        "--parallel-max",
        "30",
        "-H",
        "Content-Type: application/json",
        "--data-binary",
        f"@{body}",
        "--config",
        configuration,
    )
    attack("through nginx with TLS: requests over HTTP/2", 60)
    assert found.splitlines() == ["2 200"] * 60


def test_stop_under_load_loses_no_request_that_had_begun(catalog, tmp_path, attack):
    """A balancer that asks /readyz would send no more; here the answers that follow say 502, from nginx."""
    attack("through nginx with TLS: stops under load", 1)
    with served(catalog, admin_keys=KEY, drain_seconds=1) as server, proxied(server, tmp_path / "proxy", "on") as found:
        stopped, statuses = threading.Event(), []

        def ask():
            with found.client() as client:
                while not stopped.is_set():
                    statuses.append(client.post(QUERY, json={"text": "amber", "limit": 3}).status_code)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        while len(statuses) < 100:
            sleep(0.01)
        server.process.send_signal(signal.SIGTERM)
        before = len(statuses)
        assert server.process.wait(60) == 0
        while len(statuses) < before + 200:
            sleep(0.01)
        stopped.set()
        for thread in threads:
            thread.join()
    first_lost = next(number for number, status in enumerate(statuses) if status != 200)
    assert set(statuses) == {200, 502}
    assert set(statuses[first_lost + len(threads) :]) == {502}
