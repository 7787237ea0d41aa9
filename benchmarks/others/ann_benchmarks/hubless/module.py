"""hubless, raw: ann-benchmarks asks for the nearest neighbours, and a correction ranks by something else."""

import hubless

from ..base.module import BaseANN

METRICS = {"angular": "cosine", "euclidean": "euclidean"}
EFFORT = {"hnsw": "ef", "ivf_fastscan": "nprobe"}
"""What each kind of index spends more of to find more; others are exact."""


class Hubless(BaseANN):
    def __init__(self, metric, index):
        if metric not in METRICS:
            raise NotImplementedError(f"hubless has no metric {metric}")
        self._index = hubless.Index(correction="none", metric=METRICS[metric], index=index)
        self._kind = index
        self._parameters = {}
        self.name = f"hubless({index})"

    def fit(self, X):
        self._index.fit(None, X)

    def set_query_arguments(self, effort):
        self._parameters = {EFFORT[self._kind]: effort}
        self.name = f"hubless({self._kind}, {EFFORT[self._kind]}={effort})"

    def query(self, q, n):
        return self._index.query(q, limit=n, parameters=self._parameters).rows[0]

    def batch_query(self, X, n):
        self.res = self._index.query(X, limit=n, parameters=self._parameters).rows
