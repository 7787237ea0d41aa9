"""Stand-ins for Azure Blob Storage and Google Cloud Storage: Azurite, which `make clouds` installs, and moto.

Google's XML interface is that of S3 but for generations, which the stand-in for it adds.
"""

import base64
import hashlib
import hmac
import json
import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from support.answering import answering
from support.processes import free_port, guarded

AZURITE = Path(__file__).parents[2] / ".venv-clouds" / "node_modules" / ".bin" / "azurite-blob"
# Azurite's account, which its documentation publishes
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

# moto asks that somebody signs, and looks at no signature
_OWNER = "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"


@contextmanager
def azurite(bucket):
    """Variables that lead to a running Azurite with an empty container."""
    port = free_port()
    command = [AZURITE, "--silent", "--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck"]
    options = ["--blobHost", "127.0.0.1", "--blobPort", str(port)]
    with guarded([*command, *options], stdout=subprocess.DEVNULL) as process:
        try:
            _wait_for(port, process)
            endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"
            _make_container(endpoint, bucket)
            yield {
                "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
                "AZURE_STORAGE_ACCOUNT_KEY": KEY,
                "AZURE_STORAGE_ENDPOINT": endpoint,
            }
        finally:
            process.terminate()


def _make_container(endpoint, name):
    """Make a container by a request signed with the account's key, as Azure's documentation describes it."""
    date = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = f"x-ms-date:{date}\nx-ms-version:2021-08-06"
    signed = "PUT" + "\n" * 12 + f"{headers}\n/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
    signature = base64.b64encode(hmac.digest(base64.b64decode(KEY), signed.encode(), hashlib.sha256)).decode()
    answer = httpx.put(
        f"{endpoint}/{name}?restype=container",
        headers={"x-ms-date": date, "x-ms-version": "2021-08-06", "authorization": f"SharedKey {ACCOUNT}:{signature}"},
        timeout=60,
    )
    answer.raise_for_status()


class Generations:
    """An S3 endpoint that answers as Google's XML interface: with generations, and conditions on them."""

    is_forbidden = False

    def __init__(self, app):
        self._app = app
        self._now = {}
        self._lock = threading.Lock()

    def __call__(self, environ, start_response):
        path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
        with self._lock:
            if self.is_forbidden:
                return _refuse(start_response, "403 Forbidden")
            wanted = environ.pop("HTTP_X_GOOG_IF_GENERATION_MATCH", None)
            if wanted is not None and wanted != self._now.get(path, "0"):
                return _refuse(start_response, "412 Precondition Failed")
            environ["HTTP_AUTHORIZATION"] = _OWNER
            head = []
            body = b"".join(self._app(environ, lambda *args: head.extend(args)))
            if method == "PUT" and head[0].startswith("200"):
                self._now[path] = str(int(self._now.get(path, "0")) + 1)
            if method == "DELETE":
                self._now.pop(path, None)
            generation = [("x-goog-generation", self._now[path])] if path in self._now else []
            start_response(head[0], [*head[1], *generation])
            return [body]


def _refuse(start_response, status):
    start_response(status, [("Content-Length", "0")])
    return [b""]


@contextmanager
def google(bucket):
    """Variables that lead to a stand-in for Google's XML interface with an empty bucket."""
    generations = Generations(DomainDispatcherApplication(create_backend_app))
    empty = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
    with answering(generations) as url:
        account = {"gcs_base_url": url, "disable_oauth": True} | empty
        httpx.put(f"{url}/{bucket}", timeout=60).raise_for_status()
        yield {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account), "STORAGE_EMULATOR_HOST": url}


def _wait_for(port, process):
    while process.poll() is None:
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the emulator did not start")
