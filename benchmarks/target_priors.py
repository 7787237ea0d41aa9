"""Changes of R@1 by a target prior: `python -m benchmarks.target_priors FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`. Half of the queries of the gallery, drawn at random, test. How often each
target is right for the other half, plus 1, is the prior. So sets with one query a target have none worth the name. The
query bank is

- *asked*: the other half, as what people asked before. Popular targets have many queries in it; the gallery is all
  targets.
- *others*: queries of other targets. The gallery is half of the targets, as in the strict protocol.
- *bank*: `bank.npy`, where there is one.

`wrong` is the same prior, given to other targets at random. Means over the seeds, in points of R@1 against raw.

Prints Markdown; writes all numbers to `benchmarks/results/target_priors.json`.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.real_sets import Set, open_set
from hubless import measures
from hubless.builder.offsets import offsets
from hubless.lab.experiments.trials import strict_trial
from hubless.vectors.arrays import F32, F64, I64

CORRECTIONS: tuple[tuple[str, dict[str, Any]], ...] = (("auto", {}), ("sn", {}), ("sn", {"temperature": 0.01}))
PRIORS = ("no prior", "counts", "wrong")
SEEDS = 10
RESULTS = Path(__file__).parent / "results" / "target_priors.json"


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
    tests, asked = np.sort(order[::2]), np.sort(order[1::2])
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


def measure(data: Set, seeds: int) -> Iterator[dict[str, Any]]:
    """A row for each bank and correction."""
    found: dict[tuple[str, str], list[list[float]]] = {}
    for seed in range(seeds):
        for split in splits(data, seed):
            raw = recall(split)
            priors = (None, split.prior, np.random.default_rng(100 + seed).permutation(split.prior))
            for name, parameters in CORRECTIONS:
                label = " ".join([name, *(f"{key}={value}" for key, value in parameters.items())])
                given: dict[str, Any] = {"metric": "cosine", "correction": name, "parameters": parameters}
                hs = [offsets(split.targets, split.bank, **given, target_prior=prior) for prior in priors]
                found.setdefault((split.name, label), []).append([raw, *(recall(split, h) - raw for h in hs)])
    for (bank, label), figures in found.items():
        means, spreads = np.mean(figures, axis=0), np.std(figures, axis=0, ddof=1) / np.sqrt(len(figures))
        named = dict(zip(PRIORS, zip(means[1:].tolist(), spreads[1:].tolist(), strict=True), strict=True))
        yield {"set": data.name, "bank": bank, "correction": label, "raw": float(means[0]), "changes": named}


def markdown(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """One line for each set, bank and correction."""
    yield f"| set | bank | raw | correction | {' | '.join(PRIORS)} |"
    yield "| --- | --- | ---: | --- |" + " ---: |" * len(PRIORS)
    for row in rows:
        changes = " | ".join(f"{mean:+.1f} ± {error:.1f}" for mean, error in row["changes"].values())
        yield f"| {row['set']} | {row['bank']} | {row['raw']:.1f} | {row['correction']} | {changes} |"


def main() -> None:
    """Measure all folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for folder in given.folders:
        rows += measure(open_set(folder), given.seeds)
    print("\n".join(markdown(rows)))
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
