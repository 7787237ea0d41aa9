"""Behind nginx with TLS and HTTP/2, as docs/security.md wants it beyond one machine."""

import os
import shutil
import signal
import socket
import ssl
import subprocess
from contextlib import contextmanager

import httpx
import pytest
from support.processes import free_port
from support.raw import connect, read_to_end, request, send
from support.server_process import served
from support.until import until

PROXY, OPENSSL = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin"), shutil.which("openssl")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PROXY, reason="needs nginx (apt-get install nginx-light)"),
    pytest.mark.skipif(not OPENSSL, reason="needs openssl"),
]
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
        keepalive_timeout 30s;  # shorter than the 620 s of hubless
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


def test_wrong_keys_count_for_the_address_of_the_client_which_it_cannot_choose(proxy):
    """nginx adds the address to what the client claims."""

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
    # lines of the log come together
    until(lambda: any(f"address {source} has tried" in line for line in proxy.server.log))


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
def test_request_within_a_request_never_reaches_the_server(proxy, name):
    with proxy.connect() as connection:
        send(connection, SMUGGLING[name] + request("GET", "/livez", "Connection: close"))
        read_to_end(connection)
    assert not any("/v1/aliases" in line for line in proxy.server.log)
