"""Changes of R@1 where one collection has several domains: `python -m benchmarks.mixtures FOLDER FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`, all of one encoder; each is a domain, or a tenant. Each is split by the
strict protocol, and the splits stand in one collection. *One fit* is fitted on the queries of all domains, *each its
own* with `fit_by`. All targets are searched, or with a filter those of the domain that is asked. *Without queries*: no
query of the domain that is asked is in the bank.

Prints Markdown: a line an entry, the mean over the domains / the worst domain, each the mean of the splits. Everything
is kept in `docs/images/mixtures.json`, a line a domain.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.gains import IMAGES, signed
from benchmarks.real_sets import Set, print_sets
from hubless import measures
from hubless.corrections import CORRECTIONS
from hubless.corrections.by_group import fit_by_group
from hubless.corrections.grouped import GroupedVectors
from hubless.corrections.roles import Names
from hubless.vectors.arrays import F32
from hubless.vectors.sources import HeldVectors
from hubless_lab.experiments.trials import Trial, strict_trial

SEEDS = 5
METHODS = ("auto", "csls")
WAYS = ("one fit", "each its own", "without queries")
SEARCHES = ("all targets", "by filter")
KEPT = IMAGES / "mixtures.json"


@dataclass(frozen=True)
class Mixture:
    """Splits of some domains in one collection: targets (n, d) and bank queries (b, d), with the domain of each."""

    trials: Mapping[str, Trial]
    targets: F32
    of_targets: Names
    bank: F32
    of_queries: Names

    @classmethod
    def of(cls, sets: Sequence[Set], seed: int) -> "Mixture":
        """Split each set."""
        trials = {data.name: strict_trial(data.pairs, seed) for data in sets}
        sides = [[(name, getattr(each, side)) for name, each in trials.items()] for side in ("targets", "query_bank")]
        stacked = [np.concatenate([rows for _, rows in side]) for side in sides]
        named = [np.concatenate([np.full(len(rows), name, object) for name, rows in side]) for side in sides]
        return cls(trials, stacked[0], named[0], stacked[1], named[1])

    def offsets(self, method: str, way: str, domain: str) -> F32:
        """Return the offsets that a way of fitting gives all targets, to ask about a domain."""
        correction = CORRECTIONS[method]()
        if way == "each its own":
            bank = GroupedVectors(self.bank, "query bank", self.of_queries)
            [fitted] = fit_by_group(correction, [bank], HeldVectors(self.targets, "targets"), self.of_targets)
            return fitted.of_groups(self.targets, self.of_targets)
        bank = self.bank[self.of_queries != domain] if way == "without queries" else self.bank
        found: F32 = correction.fit(bank, self.targets).offsets(self.targets)
        return found

    def right(self, domain: str, offsets: F32) -> dict[str, float]:
        """Return R@1 in percent of the test queries of a domain, of all targets and with a filter."""
        given = self.trials[domain]
        here = np.flatnonzero(self.of_targets == domain)
        scores = given.queries @ self.targets.T - offsets
        relevant = [here[rows] for rows in given.relevant]
        filtered = np.full_like(scores, -np.inf)
        filtered[:, here] = scores[:, here]
        ranked = zip(SEARCHES, (scores, filtered), strict=True)
        return {search: 100 * float((measures.ranks(some, relevant) <= 1).mean()) for search, some in ranked}


def changes_of(sets: Sequence[Set], seeds: int) -> list[dict[str, Any]]:
    """Return the changes of R@1 in points of each domain, by method, way and search: one a split."""
    changes: dict[str, dict[str, list[float]]] = {data.name: {} for data in sets}
    for seed in range(seeds):
        mixture = Mixture.of(sets, seed)
        raw = {name: mixture.right(name, np.zeros(len(mixture.targets), np.float32)) for name in changes}
        for method in METHODS:
            for way in WAYS:
                shared = None if way == "without queries" else mixture.offsets(method, way, "")
                for name, found in changes.items():
                    offsets = mixture.offsets(method, way, name) if shared is None else shared
                    for search, value in mixture.right(name, offsets).items():
                        key = f"{method}, {way}, {search}"
                        found.setdefault(key, []).append(round(value - raw[name][search], 3))
    return [{"set": name, "changes": found} for name, found in changes.items()]


def markdown(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each way to fit `auto`: mean of the sets / worst set."""
    yield f"| fit | {' | '.join(SEARCHES)} |"
    yield "| --- | ---: | ---: |"
    for way in WAYS:
        cells = []
        for search in SEARCHES:
            means = [float(np.mean(found["changes"][f"auto, {way}, {search}"])) for found in sets]
            cells.append(f"{signed(float(np.mean(means)))} / {signed(min(means))}")
        yield f"| {way} | {' | '.join(cells)} |"


def main() -> None:
    """Measure all folders as one mixture."""
    print_sets(__doc__, SEEDS, KEPT, changes_of, markdown)


if __name__ == "__main__":
    main()
