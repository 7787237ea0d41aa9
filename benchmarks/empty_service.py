"""Answer at once, without doing anything: `python -m benchmarks.empty_service bare|fastapi PORT`.

What any service of the kind costs: a bare application of uvicorn, and a route of FastAPI that answers an empty object.
"""

import sys

import uvicorn
from fastapi import FastAPI

HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"2")]


async def bare(scope, receive, send):
    """Answer every request."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": b"{}"})


def fastapi():
    """An app with the route of queries."""
    app = FastAPI()

    @app.post("/v1/collections/{collection}/query")
    async def query(collection: str):
        return {}

    return app


if __name__ == "__main__":
    kind, port = sys.argv[1:]
    app = bare if kind == "bare" else fastapi()
    lifespan = "off" if kind == "bare" else "auto"
    uvicorn.run(app, port=int(port), loop="uvloop", http="httptools", lifespan=lifespan, access_log=False)
