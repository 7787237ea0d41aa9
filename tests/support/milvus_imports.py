"""Milvus' interface for imports, before the double, which has none: it reads Parquet from S3, as a cluster does."""

import io
import json
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pyarrow.parquet as pq
from support.milvus import Proxy

_PATH = "/v2/vectordb/jobs/import/"
_HTTP2 = b"PRI"
_POLL_SECONDS = 0.01  # the end of a server waits for so long


class Importer:
    """What answers import requests.

    Attributes
    ----------
    uri : where Milvus seems to listen, for gRPC and for imports, as a real one does
    asked : action, content and login of each request
    jobs : the files of each job
    answers : action → what is answered instead, as (status, content); a list is answered one by one
    reason : of the failure of each job; empty if they succeed
    stands : whether jobs make no progress
    spared : rows of each file that are not inserted
    """

    def __init__(self, double, store):
        self._double, self._store = double, store
        self.uri = ""
        self.asked, self.jobs, self.answers = [], [], {}
        self.reason, self.stands, self.spared = "", False, 0
        self._polls = 0

    def respond(self, action, content, login):
        """Status and content of an answer."""
        self.asked.append((action, content, login))
        answer = self.answers.get(action)
        if isinstance(answer, list):
            answer = answer.pop(0) if answer else None
        if answer is not None:
            return answer
        data = {"list": lambda: {"records": []}, "create": lambda: self._create(content), "describe": self._describe}
        return 200, {"code": 0, "data": data[action]()}

    def _create(self, content):
        self.jobs.append([key for [key] in content["files"]])
        if not (self.reason or self.stands):
            objects = self._store.objects()
            for key in self.jobs[-1]:
                rows = pq.read_table(io.BytesIO(objects[key])).to_pylist()
                self._double.client.insert(content["collectionName"], rows[self.spared :])
        self._polls = 0
        return {"jobId": str(len(self.jobs))}

    def _describe(self):
        self._polls += 1
        if self.reason:
            return {"state": "Failed", "progress": 30, "reason": self.reason}
        if self.stands or self._polls == 1:
            return {"state": "Importing", "progress": 40, "reason": ""}
        return {"state": "Completed", "progress": 100, "reason": ""}


class _OnePort(Proxy):
    """Leads gRPC to one port, and HTTP to another."""

    def __init__(self, grpc, http):
        self._http = http
        super().__init__(grpc)

    def _target(self, near):
        return self._port if near.recv(len(_HTTP2), socket.MSG_PEEK) == _HTTP2 else self._http


@contextmanager
def importing(double, store):
    """An importer before a double until the block ends."""
    importer = Importer(double, store)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            action = self.path.removeprefix(_PATH)
            status, answer = importer.respond(action, content, self.headers.get("Authorization"))
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=[_POLL_SECONDS])
        thread.start()
        proxy = _OnePort(double.port, server.server_port)
        importer.uri = proxy.uri
        try:
            yield importer
        finally:
            proxy.close()
            server.shutdown()
            thread.join()
