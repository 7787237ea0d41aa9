"""A kept scan of the collection `words`, whose first target stands out."""

import numpy as np

import hubless
from hubless.store.kept_scan import KeptFinding, KeptScan, keep_scan

WHY = "among the first 10 of 90 queries, 3.3 by chance"


def scan_of_words(path):
    """Keep a scan in a catalog of support/catalogs.py. Return it."""
    catalog = hubless.Catalog(path)
    first, second = hubless.open(path, "words").ids(np.arange(2))
    scan = KeptScan(
        version=catalog.current("words"),
        made="2026-01-02T03:00:00+00:00",
        queries=100,
        threshold=0.6,
        alerts=1,
        notes=["2 of the queries are targets, or copies of them"],
        findings=[
            KeptFinding(place=1, id=first, score=0.93, why=WHY, occurrence=90, stability=0.97, copies=2),
            KeptFinding(
                place=2, id=second, score=0.31, why="nothing stands out", occurrence=4, stability=None, copies=0
            ),
        ],
    )
    keep_scan(catalog.home("words"), scan)
    return scan
