"""Serve the same index the plain FastAPI way: `python -m benchmarks.plain_service CATALOG NAME PORT`.

It has a pydantic model with a list of floats, a `def` endpoint that FastAPI runs in a thread, and a response model.
"""

import sys

import faiss
import numpy as np
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

import hubless


class Query(BaseModel):
    vector: list[float]
    limit: int = 10
    strength: float = 1.0


class Hit(BaseModel):
    id: int
    score: float
    similarity: float
    offset: float


class Answer(BaseModel):
    hits: list[Hit]
    collection: str
    version: str


def create_app(catalog, name):
    """Return an app that answers queries of one collection."""
    collection = hubless.open(catalog, name)
    app = FastAPI()

    @app.post("/query", response_model=Answer)
    def query(body: Query):
        results = collection.query(np.array(body.vector, np.float32), limit=body.limit, strength=body.strength)
        hits = [Hit(id=hit.id, score=hit.score, similarity=hit.similarity, offset=hit.offset) for hit in results[0]]
        return Answer(hits=hits, collection=name, version=collection.version)

    return app


if __name__ == "__main__":
    folder, wanted, port = sys.argv[1:]
    faiss.omp_set_num_threads(1)
    uvicorn.run(create_app(folder, wanted), port=int(port), log_level="warning", access_log=False)
