"""What was tried to make `auto` better: `python -m benchmarks.auto_variants FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`; banks are those of `benchmarks.wrong_banks`. A variant becomes part of
`auto` only if it costs no set more than 0.2 points with its full bank, and leaves each with one topic above −0.9.

- Near-duplicates are bank queries that have so many of their first ten targets in common, ranked by the unshrunk
  offsets or raw. They count once in the size of the bank that the shrinkage goes by (Σ 1/duplicates; `auto` does so
  with 5 of 10), or in Sinkhorn (weights 1/duplicates on the bank's side), or all but the first are left out.
- Overlap: the size of the bank is b²/Σ_ij w_ij, w the share of the first ten that two queries have in common.
- What no bank query has among its first ten is not boosted: its offset is at least the median.
- Most even: of `auto`, `csls` and half of each, the one whose finds of held-out bank queries have the highest entropy.
- Outlying: which offsets shrinkage leaves alone, by other robust z-scores than `hubless.corrections.folded.outlying`.

Prints Markdown: mean change of R@1 in points, full bank / one topic.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from benchmarks.real_sets import Set, open_set
from benchmarks.wrong_banks import SEEDS, trials
from hubless.corrections import correction
from hubless.corrections.folded.auto import SHRINKAGE_QUERIES
from hubless.corrections.folded.outlying import NORMAL_DEVIATION, Outlying
from hubless.corrections.folded.softmax import FittedSoftmax
from hubless.kernels.reductions import top_k
from hubless.knn.augment import centre
from hubless.lab.cross_fit import held_out_rankings
from hubless.lab.experiments.trials import Trial
from hubless.measures import k_occurrence
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import ArrayVectors

DEPTH = 10
ITERATIONS = 10
KINDS = ("all", "one topic")


def in_common(finds: I64, targets: int) -> F64:
    """How many finds the rows of (b, k) have in common, (b, b)."""
    ones = csr_array((np.ones(finds.size), finds.ravel(), np.arange(0, finds.size + 1, finds.shape[1])))
    ones.resize(len(finds), targets)
    found: F64 = (ones @ ones.T).toarray()
    return found


@dataclass
class Case:
    """A gallery and a bank."""

    trial: Trial

    @property
    def bank(self) -> F32:
        return self.trial.query_bank

    @cached_property
    def targets(self) -> ArrayVectors:
        return ArrayVectors(self.trial.targets, "targets")

    @cached_property
    def fitted(self) -> FittedSoftmax:
        extra = self.trial.target_bank
        fitted = correction("auto").fit(self.bank, self.targets, extra)
        assert isinstance(fitted, FittedSoftmax)
        return fitted

    @cached_property
    def unshrunk(self) -> F64:
        """Offsets (n,) less the topic, at full size."""
        return replace(self.fitted, shrinkage=1.0).offsets(self.targets).astype(np.float64)

    @cached_property
    def finds(self) -> I64:
        """The first ten targets of each bank query (b, 10)."""
        return top_k(self.bank, self.targets, DEPTH, centre(self.unshrunk.astype(np.float32)))[1]

    @cached_property
    def common(self) -> F64:
        """How many of their first ten two bank queries have in common, (b, b)."""
        return in_common(self.finds, len(self.trial.targets))

    @cached_property
    def common_raw(self) -> F64:
        """The same of the raw ranking."""
        return in_common(top_k(self.bank, self.targets, DEPTH)[1], len(self.trial.targets))

    def shrunk(self, size: float) -> F32:
        """Offsets with the shrinkage of a bank of this size."""
        return replace(self.fitted, shrinkage=size / (size + SHRINKAGE_QUERIES)).offsets(self.targets)

    def by(self, method: str) -> F32:
        """The offsets of another correction."""
        return correction(method).fit(self.bank, self.targets).offsets(self.targets)


Variant = Callable[[Case], F32]


def shipped(case: Case) -> F32:
    return case.fitted.offsets(case.targets)


def all_shrunk(case: Case) -> F32:
    """All offsets are shrunk alike, as before version 0.2."""
    return replace(case.fitted, outlying=None).offsets(case.targets)


def once(common: F64, least: int) -> F64:
    """1 over how many bank queries have so many finds in common with each, itself among them: (b,)."""
    weights: F64 = 1 / (common >= least).sum(axis=1)
    return weights


def counted_all(case: Case) -> F32:
    return case.shrunk(len(case.bank))


def counted_once(least: int) -> Variant:
    return lambda case: case.shrunk(float(once(case.common, least).sum()))


def counted_once_raw(least: int) -> Variant:
    return lambda case: case.shrunk(float(once(case.common_raw, least).sum()))


def by_overlap(case: Case) -> F32:
    return case.shrunk(len(case.bank) ** 2 / float(case.common.sum() / DEPTH))


def left_out(least: int) -> Variant:
    def offsets(case: Case) -> F32:
        alike, kept = case.common >= least, np.ones(len(case.bank), bool)
        for row in range(len(kept)):
            kept[row] = not alike[row, :row][kept[:row]].any()
        return shipped(Case(replace(case.trial, query_bank=case.bank[kept])))

    return offsets


def weighted(least: int) -> Variant:
    """Sinkhorn with weights on the bank's side, and the shrinkage of as many queries."""

    def offsets(case: Case) -> F32:
        weights = once(case.common, least)
        extra = case.trial.target_bank
        columns = case.trial.targets if extra is None else np.vstack([case.trial.targets, extra])
        exponents = (case.bank @ columns.T).astype(np.float64) / case.fitted.temperature
        log_weights = np.log(weights / weights.sum())
        c = np.zeros(len(columns))
        for _ in range(ITERATIONS):
            a = log_weights - logsumexp(exponents + c, axis=1)
            c = -np.log(len(columns)) - logsumexp(exponents + a[:, np.newaxis], axis=0)
        size = float(weights.sum())
        fitted = replace(case.fitted, potentials=a, outlying=None, shrinkage=size / (size + SHRINKAGE_QUERIES))
        return fitted.offsets(case.targets)

    return offsets


def not_boosted(case: Case) -> F32:
    found, offsets = shipped(case), k_occurrence(case.finds, len(case.trial.targets))
    middle = np.median(found)
    lifted: F32 = np.where(offsets == 0, np.maximum(found, middle), found)
    return lifted


def half_csls(case: Case) -> F32:
    half: F32 = (centre(shipped(case)) + centre(case.by("csls"))) / 2
    return half


def most_even(case: Case) -> F32:
    """Of three, the one that spreads the finds of held-out bank queries most evenly."""
    source, count = ArrayVectors(case.bank, "bank"), len(case.trial.targets)
    held = [held_out_rankings(correction(name), source, case.targets, DEPTH) for name in ("auto", "csls")]
    offsets = [each.offsets for each in held]
    offsets.append((offsets[0] + offsets[1]) / 2)
    answers = [each.corrected for each in held]
    answers.append(top_k(held[0].queries, case.targets, DEPTH, offsets[2])[1])
    entropies = [_entropy(k_occurrence(rows, count)) for rows in answers]
    return (shipped, lambda case: case.by("csls"), half_csls)[int(np.argmax(entropies))](case)


def _entropy(counts: I64) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def perplexity(wanted: float) -> Variant:
    def offsets(case: Case) -> F32:
        if wanted >= len(case.bank):
            return shipped(case)
        fitted = correction("sn", {"perplexity": wanted}).fit(case.bank, case.targets)
        found: F32 = case.fitted.shrinkage * fitted.offsets(case.targets)
        return found

    return offsets


def outlying(low: float, high: float) -> Variant:
    def offsets(case: Case) -> F32:
        middle = float(np.median(case.unshrunk))
        deviation = NORMAL_DEVIATION * float(np.median(np.abs(case.unshrunk - middle)))
        rule = Outlying(middle, middle + low * deviation, middle + high * deviation)
        return rule.shrunk(case.unshrunk, case.fitted.shrinkage).astype(np.float32)

    return offsets


VARIANTS: dict[str, Variant] = {
    "`auto`": shipped,
    "all bank queries count": counted_all,
    "near-duplicates count once in the shrinkage: 7 of 10": counted_once(7),
    "the same, 4 of 10": counted_once(4),
    "the same, 3 of 10": counted_once(3),
    "the same, 7 of 10 by the raw ranking": counted_once_raw(7),
    "the same, 5 of 10 by the raw ranking": counted_once_raw(5),
    "shrinkage by overlap of finds": by_overlap,
    "near-duplicates are left out of the bank: 7 of 10": left_out(7),
    "the same, 5 of 10 left out": left_out(5),
    "near-duplicates count once in Sinkhorn, too: 7 of 10": weighted(7),
    "the same, 5 of 10 in Sinkhorn": weighted(5),
    "all offsets are shrunk alike": all_shrunk,
    "no offset is shrunk": lambda case: case.unshrunk.astype(np.float32),
    "outlying from z-scores of 3 to 5": outlying(3, 5),
    "outlying from z-scores of 4 to 8": outlying(4, 8),
    "what no bank query has in its top 10 is not boosted": not_boosted,
    "half `auto`, half `csls`": half_csls,
    "`auto`, `csls` or half of each, the most even": most_even,
    "perplexity 10": perplexity(10),
    "perplexity 20": perplexity(20),
}


def right(given: Trial, offsets: F32) -> float:
    """R@1 in per cent."""
    found = top_k(given.queries, ArrayVectors(given.targets, "targets"), 1, centre(offsets))[1][:, 0]
    return 100 * float(np.mean([row in rows for row, rows in zip(found.tolist(), given.relevant, strict=True)]))


def measure(data: Set, chosen: Sequence[str], seeds: int) -> dict[str, dict[str, float]]:
    """The mean change of R@1 by each variant with each kind of bank."""
    found: dict[str, dict[str, float]] = {}
    for kind in KINDS:
        changes: dict[str, list[float]] = {name: [] for name in chosen}
        for seed in range(1 if kind == "all" and data.bank is not None else seeds):
            for given in trials(data, kind, seed):
                case = Case(given)
                raw = right(given, np.zeros(len(given.targets), np.float32))
                for name in chosen:
                    changes[name].append(right(given, VARIANTS[name](case)) - raw)
        found[kind] = {name: float(np.mean(values)) for name, values in changes.items()}
    return found


def markdown(sets: Sequence[str], rows: Sequence[dict[str, dict[str, float]]], chosen: Sequence[str]) -> Iterator[str]:
    """A line a variant, a column a set."""
    yield f"| rule | {' | '.join(sets)} |"
    yield "| --- |" + " ---: |" * len(sets)
    for name in chosen:
        cells = [" / ".join(f"{row[kind][name]:+.1f}".replace("-", "−") for kind in KINDS) for row in rows]
        yield f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Measure all folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--variant", action="append", choices=list(VARIANTS), help="default: all of these")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    given = parser.parse_args()
    chosen = given.variant or list(VARIANTS)
    sets = [open_set(folder) for folder in given.folders]
    rows = [measure(data, chosen, given.seeds) for data in sets]
    print("\n".join(markdown([data.name for data in sets], rows, chosen)))


if __name__ == "__main__":
    main()
