"""An endpoint that embeds texts as OpenAI's does, on a loopback socket, and can be told to misbehave."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from support import catalogs


class Embeddings(ThreadingHTTPServer):
    """Answers with the vectors of the encoder of `words`, until `answer` is told otherwise.

    `asked` has the body of each request, `headers` its headers. `answer` takes the body and gives a status and a
    document or bytes.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked = []
        self.headers = []
        self.answer = right
        self.lock = threading.Lock()

    def handle_error(self, request, client_address):
        """Say nothing of those who hung up."""

    @property
    def url(self):
        return "http://{}:{}/v1".format(*self.server_address)

    def describe(self, **more):
        """A description of an encoder that asks here, quick to give up."""
        return {"type": "openai", "url": self.url, "model": "words", "retries": 0, "timeout": 20} | more


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.asked.append((self.path, body))
            self.server.headers.append(dict(self.headers))
        status, document = self.server.answer(body)
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def right(body):
    """What it should answer, not in order, as is allowed."""
    vectors = catalogs.encoder().encode(body["input"]).tolist()
    items = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
    return 200, {"object": "list", "data": items[::-1], "model": body["model"]}


def data(*rows):
    return {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}


@contextmanager
def embeddings():
    with Embeddings() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
