"""The cost of the query sample for a query: processor time of a server with it, beside one without.

python -m benchmarks.query_sample [--targets 20000] [--dim 512] [--seconds 4] [--rounds 3]
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

import hubless
from benchmarks.harness import markdown, with_hubs
from benchmarks.http_service import hubless_service, load

NAME = "sampled"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=20_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    targets, bank, queries = with_hubs(given.targets, 2000, 20_000, given.dim)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        hubless.build(home / "catalog", NAME, targets, bank, index="fastscan", progress=False)
        np.save(home / "queries.npy", queries)  # all different: each is drawn for, and the first thousands are kept
        found = {"without": [], "with": []}
        for number in range(given.rounds):
            for name, settings in (("without", {}), ("with", {"query_sample": home / f"sample-{number}"})):
                with hubless_service(home / "catalog", NAME, **settings) as side:
                    load(side, home / "queries.npy", 4, 1, "--binary")
                    found[name].append(load(side, home / "queries.npy", 4, given.seconds, "--binary"))
    rows = [("query sample", "processor ms a query", "of none", "answers a second", "p99, ms")]
    alone = median(each["cpu_ms"] for each in found["without"])
    for name, each in found.items():
        cost = median(one["cpu_ms"] for one in each)
        figures = [median(one[key] for one in each) for key in ("rate", "p99_ms")]
        rows.append((name, f"{cost:.3f}", f"{cost / alone:.2f}", f"{figures[0]:.0f}", f"{figures[1]:.1f}"))
    print(markdown(rows))


if __name__ == "__main__":
    main()
