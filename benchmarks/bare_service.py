"""Serve the same index in twenty lines: `python -m benchmarks.bare_service CATALOG NAME PORT`.

A bare application of uvicorn: the vector by pysimdjson (without it, by orjson), the library's query, ten hits read as
objects, and orjson. It checks nothing, limits nothing and counts nothing.
"""

import sys
from operator import attrgetter

import faiss
import numpy as np
import orjson
import uvicorn

import hubless

try:
    from simdjson import Parser

    PARSER = Parser()

    def vector_of(body):
        return np.frombuffer(PARSER.parse(body)["vector"].as_buffer(of_type="d"), np.float64).astype(np.float32)

except ImportError:

    def vector_of(body):
        return np.array(orjson.loads(body)["vector"], np.float32)


FIELDS = ("id", "score", "similarity", "offset")
VALUES = attrgetter(*FIELDS)


def create_app(collection):
    async def app(scope, receive, send):
        body = b""
        more = True
        while more:
            message = await receive()
            body, more = body + message["body"], message.get("more_body", False)
        hits = collection.query(vector_of(body))[0] if body else ()
        sent = orjson.dumps({"hits": [dict(zip(FIELDS, VALUES(hit), strict=True)) for hit in hits]})
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(sent))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": sent})

    return app


if __name__ == "__main__":
    folder, wanted, port = sys.argv[1:]
    faiss.omp_set_num_threads(1)
    app = create_app(hubless.open(folder, wanted))
    uvicorn.run(app, port=int(port), loop="uvloop", http="httptools", lifespan="off", access_log=False)
