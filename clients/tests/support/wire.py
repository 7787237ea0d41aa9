"""Answers as the HTTP contract has them, and a server that remembers what it was asked."""

import json

import httpx

HIT = {"id": 7, "score": 0.25, "similarity": 0.5, "offset": 0.25}
ANSWER = {"hits": [HIT], "collection": "songs", "version": "v1"}
BATCH = {"results": [{"hits": [HIT]}, {"hits": []}], "collection": "songs", "version": "v1"}
INFO = {
    "name": "songs",
    "version": "v1",
    "created": "2025-01-02T03:04:05Z",
    "count": 9,
    "dim": 2,
    "metric": "cosine",
    "correction": {"name": "dbsn", "parameters": {}},
    "index": {"type": "flat", "parameters": {}},
    "measured": {"recall_at_10": 1.0},
    "id_type": "int64",
    "payload_columns": ["title"],
    "payload_types": {"title": "string"},
    "text": True,
    "image": False,
    "pictures": False,
    "versions": ["v1"],
    "aliases": [],
    "strength": 1.0,
    "live": None,
    "payload": "columns",
    "confidence": None,
}
POINT = {"id": 7, "offset": 0.25, "payload": {"title": "x"}, "collection": "songs", "version": "v1"}
ALIAS = {"alias": "a", "collection": "songs", "etag": '"3"'}


class Server:
    """Answers in turn, the last answer again and again; an exception among the answers is raised."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, dict):
            return httpx.Response(200, json=answer, headers={"X-Request-ID": "from-server"})
        # A response can be read once only.
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    @property
    def request(self):
        (only,) = self.requests
        return only


def problem(status, code, headers=None, **members):
    document = {"type": "about:blank", "title": "In words", "status": status, "detail": "What is wrong", "code": code}
    media_type = {"Content-Type": "application/problem+json"}
    return httpx.Response(
        status, json={**document, "request_id": "r-1", **members}, headers={**media_type, **(headers or {})}
    )


def sent(server):
    """Method, path with URL parameters, and the JSON body."""
    request = server.request
    assert request.headers["Content-Type"] == "application/json"
    return request.method, request.url.raw_path.decode(), json.loads(request.content)
