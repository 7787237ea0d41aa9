"""`gc` by binary search beside comparing with the whole bank: `python -m benchmarks.gc_by_search`.

Both rescore the same 200 candidates of the same queries, in turns, on one thread. Prints processor time of a query, and
how many times as long the comparison takes. The rankings are checked to be the same.
"""

import argparse
from functools import partial
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness import interleaved, medians, with_hubs
from hubless.corrections.query_time import CANDIDATES, Candidates
from hubless.corrections.rescored.globally_corrected import GloballyCorrected, RankAmongBank
from hubless.vectors.arrays import F64

QUERIES, ROUNDS = 20, 5


def measure(targets: int, bank: int, dim: int) -> list[str]:
    """The cells of a line."""
    rows, queries_of_bank, queries = with_hubs(targets, bank, QUERIES, dim)
    needed = -(-4 * targets * bank // 2**20)
    by_search = GloballyCorrected(memory_mb=needed).fit(queries_of_bank, rows).query_time(rows)
    by_comparing = RankAmongBank(by_search.bank)
    asked = []
    for query, line in zip(queries, queries @ rows.T, strict=True):
        best = np.argpartition(-line, CANDIDATES)[:CANDIDATES]
        asked.append((query, Candidates(best, line[best], partial(rows.__getitem__, best))))

    def scores(side: RankAmongBank) -> list[F64]:
        return [side.scores(query, candidates) for query, candidates in asked]

    np.testing.assert_array_equal(scores(by_search), scores(by_comparing))
    sides = {"compared": partial(scores, by_comparing), "search": partial(scores, by_search)}
    with threadpool_limits(1):
        times = medians(interleaved(sides, ROUNDS, process_time))
    compared, search = (1000 * times[name] / QUERIES for name in sides)
    table = 4e-6 * targets * bank
    return [f"{bank:,}", f"{table:,.0f}", f"{compared:.2f}", f"{search:.2f}", f"{compared / search:.0f} ×"]


def main() -> None:
    """Measure all sizes of bank."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=10_000)
    parser.add_argument("--bank", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--dim", type=int, default=512)
    given = parser.parse_args()
    print("| bank | table, MB | compared, ms | binary search, ms | ratio |\n| ---: | ---: | ---: | ---: | ---: |")
    for bank in given.bank:
        print(f"| {' | '.join(measure(given.targets, bank, given.dim))} |")


if __name__ == "__main__":
    main()
