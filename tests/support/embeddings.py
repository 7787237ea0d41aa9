"""An endpoint that embeds texts as OpenAI's does, on a loopback socket, and can be told to misbehave."""

import json
from contextlib import contextmanager

from support import catalogs
from support.answering import answering
from werkzeug.wrappers import Request, Response


class Embeddings:
    """Answers with the vectors of the encoder of `words`, until `answer` is told otherwise.

    `asked` has the address and the body of each request, `headers` its headers. `answer` takes the body and gives a
    status and a document or bytes.
    """

    def __init__(self):
        self.url = ""
        self.asked = []
        self.headers = []
        self.answer = right

    @Request.application
    def app(self, request):
        body = request.get_json()
        self.asked.append((request.environ["REQUEST_URI"], body))
        self.headers.append(dict(request.headers))
        status, document = self.answer(body)
        return Response(document if isinstance(document, bytes) else json.dumps(document), status)

    def describe(self, **more):
        """A description of an encoder that asks here, quick to give up."""
        return {"type": "openai", "url": self.url, "model": "words", "retries": 0, "timeout": 20} | more


def right(body):
    """What it should answer, not in order, as is allowed."""
    vectors = catalogs.encoder().encode(body["input"]).tolist()
    items = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
    return 200, {"object": "list", "data": items[::-1], "model": body["model"]}


def data(*rows):
    return {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}


@contextmanager
def embeddings():
    server = Embeddings()
    with answering(server.app) as url:
        server.url = f"{url}/v1"
        yield server
