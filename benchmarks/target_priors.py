"""Changes of R@1 by a target prior: `python -m benchmarks.target_priors [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`. Half of the queries of the gallery, drawn at random, test. How often each
target is right for the other half, plus 1, is the prior. So sets with one query a target have none worth the name. The
query bank is

- *asked*: the other half, as what people asked before. Popular targets have many queries in it; the gallery is all
  targets.
- *others*: queries of other targets. The gallery is half of the targets, as in the strict protocol.
- *bank*: `bank.npy`, where there is one.

Means over the seeds with their standard errors, in points of R@1 against raw.

Prints Markdown. Everything is kept in `docs/images/target_priors.json`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.gains import IMAGES, NAMES, signed
from benchmarks.real_sets import Set, of_each, print_sets
from hubless import measures
from hubless.builder.offsets import offsets
from hubless.vectors.arrays import F32, F64, I64
from hubless_lab.experiments.trials import strict_trial

PRIORS = ("no prior", "with the prior")
SEEDS = 10
KEPT = IMAGES / "target_priors.json"


def counted(relevant: Sequence[I64], targets: int) -> F64:
    """Return how often each target is right."""
    return np.bincount(np.concatenate(relevant), minlength=targets).astype(np.float64)


class Split(NamedTuple):
    """One half of the queries of a gallery tests, and the other half makes the prior."""

    name: str
    targets: F32
    bank: F32
    queries: F32
    relevant: list[I64]
    prior: F64


def splits(data: Set, seed: int) -> Iterator[Split]:
    """The splits of a seed, one a bank."""
    pairs = data.pairs
    if data.bank is None:
        strict = strict_trial(pairs, seed)
        yield _split("others", strict.targets, strict.queries, strict.relevant, strict.query_bank, seed)
    else:
        yield _split("bank", pairs.targets, pairs.queries, pairs.relevant, data.bank, seed)
    yield _split("asked", pairs.targets, pairs.queries, pairs.relevant, None, seed)


def _split(name: str, targets: F32, queries: F32, relevant: list[I64], bank: F32 | None, seed: int) -> Split:
    order = np.random.default_rng(seed).permutation(len(queries))
    tests = np.sort(order[::2])
    asked = np.sort(order[1::2])
    prior = counted([relevant[query] for query in asked], len(targets)) + 1
    return Split(
        name,
        targets,
        queries[asked] if bank is None else bank,
        queries[tests],
        [relevant[query] for query in tests],
        prior,
    )


def recall(split: Split, h: F32 | float = 0.0) -> float:
    """R@1 in per cent."""
    scores = split.queries @ split.targets.T - h
    return 100 * float(np.mean(measures.ranks(scores, split.relevant) <= 1))


def measure(data: Set, seeds: int) -> dict[str, Any]:
    """Return raw R@1 in per cent by `auto` and its changes in points, by bank: one a seed, without and with a prior."""
    found: dict[str, dict[str, list[float]]] = {}
    for seed in range(seeds):
        for split in splits(data, seed):
            raw = recall(split)
            changes = {"raw": raw}
            for name, prior in zip(PRIORS, (None, split.prior), strict=True):
                h = offsets(split.targets, split.bank, metric="cosine", target_prior=prior)
                changes[name] = recall(split, h) - raw
            for name, value in changes.items():
                found.setdefault(split.name, {}).setdefault(name, []).append(round(value, 3))
    return {"set": data.name, "banks": found}


def markdown(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One line for each set and bank."""
    yield f"| set | bank | raw R@1 | {' | '.join(f'`auto`, {name}' for name in PRIORS)} |"
    yield "| --- | --- | ---: |" + " ---: |" * len(PRIORS)
    for found in sets:
        name = NAMES[found["set"]].replace("\n", " ")
        for bank, each in found["banks"].items():
            cells = [
                f"{signed(float(np.mean(each[prior])))} ± {np.std(each[prior], ddof=1) / np.sqrt(len(each[prior])):.1f}"
                for prior in PRIORS
            ]
            yield f"| {name} | {bank} | {np.mean(each['raw']):.1f} | {' | '.join(cells)} |"


def main() -> None:
    """Measure all folders."""
    print_sets(__doc__, SEEDS, KEPT, of_each(measure), markdown)


if __name__ == "__main__":
    main()
