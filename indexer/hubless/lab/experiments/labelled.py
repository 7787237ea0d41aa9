"""What `compare` and `tune` measure on: labelled pairs, the banks that come with them, and the trials made of both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from hubless.corrections.prior import TAKES_PRIOR, PriorLike, as_prior
from hubless.errors import InputError
from hubless.lab.experiments.leaks import LEAK
from hubless.lab.experiments.methods import Method
from hubless.lab.experiments.relevance import Relevant, left_out_note
from hubless.lab.experiments.trials import (
    Pairs,
    Trial,
    banked_trial,
    open_pairs,
    pairs_of,
    read_vectors,
    refuse_targets,
    strict_trial,
    without_self,
)
from hubless.lab.matrices import SimilarityMatrices
from hubless.lab.vectorless import AUTO_NOTE
from hubless.vectors.arrays import F32, check_at_least
from hubless.vectors.files import Vectors

_LOOKED_AT, _CONSTANT = 64, 1e-6

Metric = Literal["cosine", "dot"]


@dataclass(frozen=True)
class Draws:
    """Which trials are made.

    Parameters
    ----------
    seeds : splits by the strict protocol, with seeds 0, 1, …
    bank_size : so many queries of each bank are drawn at random; None takes all
    draws : how often they are drawn
    """

    seeds: int
    bank_size: int | None = None
    draws: int = 1

    def __post_init__(self) -> None:
        check_at_least("seeds", self.seeds, 1)
        check_at_least("draws", self.draws, 1)
        if self.bank_size is not None:
            check_at_least("bank size", self.bank_size, 1)
        elif self.draws > 1:
            raise InputError("draws", "1 without a bank size, as every draw is all of the bank", self.draws)


@dataclass(frozen=True)
class Labelled:
    """Labelled pairs, and banks from elsewhere; without these the strict protocol makes its own."""

    pairs: Pairs
    query_bank: F32 | None
    target_bank: F32 | None

    @property
    def protocol(self) -> Literal["strict", "query bank"]:
        """What keeps test queries out of the bank."""
        return "strict" if self.query_bank is None else "query bank"

    def count(self, draws: Draws) -> int:
        """Number of trials."""
        return draws.draws * (draws.seeds if self.query_bank is None else 1)

    def trials(self, draws: Draws) -> Iterator[Trial]:
        """All trials, one after the other.

        Raises
        ------
        InputError
            if a bank is smaller than what is to be drawn of it.
        """
        for whole in self._whole(draws.seeds):
            for draw in range(draws.draws):
                yield whole if draws.bank_size is None else _drawn(whole, draws.bank_size, draw)

    def _whole(self, seeds: int) -> Iterator[Trial]:
        if self.query_bank is not None:
            yield banked_trial(self.pairs, self.query_bank, self.target_bank)
            return
        for seed in range(seeds):
            yield strict_trial(self.pairs, seed)

    def notes(self) -> list[str]:
        """What the reader of the numbers should know of the input."""
        pairs, bank, extra = self.pairs, self.query_bank, self.target_bank
        notes = left_out_note(pairs.left_out.tolist(), len(pairs.queries))
        if pairs.matrices is not None:
            bank, extra = pairs.matrices.bank, None
            notes += pairs.matrices.doubts()
        for vectors, name in ((bank, "query bank"), (extra, "target bank")):
            if vectors is not None and (repeated := len(vectors) - len(_distinct(vectors))):
                total = f"{repeated} of {len(vectors)} rows of the {name}"
                notes.append(f"{total} repeat others, and so count more than once")
        if bank is not None and pairs.matrices is None and (targets := _shared(bank, pairs.targets)):
            notes.append(
                f"{targets} targets are in the query bank: it has to hold queries, or it corrects for the wrong ones"
            )
        if bank is not None and (shared := _shared(bank, pairs.queries)):
            notes.append(f"{shared} test queries are in the query bank: {LEAK}")
        if extra is not None and (shared := _shared(extra, pairs.targets)):
            notes.append(f"{shared} searched targets are in the target bank: {LEAK}")
        if pairs.target_prior is not None:
            notes.append(f"{', '.join(TAKES_PRIOR)} are fitted with the target prior; other corrections take none")
        some = pairs.queries[:_LOOKED_AT]
        if np.ptp(some if pairs.matrices is not None else some @ pairs.targets.T, axis=1).max() < _CONSTANT:
            notes.append("every query is equally similar to all targets: there is nothing to rank by")
        return notes


def open_labelled(
    queries: Vectors | SimilarityMatrices,
    targets: Vectors | None,
    relevant: str | Path | Relevant,
    *,
    query_bank: Vectors | None = None,
    target_bank: Vectors | None = None,
    metric: Metric = "cosine",
    bank_of_targets: bool = False,
    leave_self_out: bool = False,
    target_prior: PriorLike | None = None,
) -> Labelled:
    """Read labelled pairs and banks.

    Parameters
    ----------
    queries, targets, query_bank, target_bank : (m, d), (n, d), (b, d), (g, d); or similarities in place of all four
    relevant : for each query the row number of its relevant target, or a list of several, or an empty one
    bank_of_targets : take a query bank that holds targets
    leave_self_out : query i is target i, and is no answer to itself
    target_prior : (n,) how often each target should be found, for the corrections that take one

    Raises
    ------
    InputError
        if they do not fit each other, or the query bank holds targets.
    """
    if isinstance(queries, SimilarityMatrices):
        found = _of_matrices(queries, targets, relevant, query_bank, target_bank)
    else:
        if targets is None:
            raise InputError("targets", "vectors, unless the queries are similarities", "none")
        found = Labelled(
            open_pairs(queries, targets, relevant, metric),
            None if query_bank is None else read_vectors(query_bank, "query bank", metric),
            None if target_bank is None else read_vectors(target_bank, "target bank", metric),
        )
    if found.query_bank is None and found.target_bank is not None:
        raise InputError("target bank", "none without a query bank, as the strict protocol makes its own", "one")
    if found.query_bank is not None and not bank_of_targets:
        refuse_targets(found.query_bank, found.pairs)
    pairs = without_self(found.pairs) if leave_self_out else found.pairs
    prior = None if target_prior is None else as_prior(target_prior, len(pairs.targets))
    return replace(found, pairs=replace(pairs, target_prior=prior))


def auto_notes(pairs: Pairs, entries: Sequence[Method]) -> list[str]:
    """What is to be said of `auto`, if it takes part where only similarities are known."""
    return [AUTO_NOTE] if pairs.matrices is not None and any(entry.name == "auto" for entry in entries) else []


def _of_matrices(
    given: SimilarityMatrices,
    targets: Vectors | None,
    relevant: str | Path | Relevant,
    query_bank: Vectors | None,
    target_bank: Vectors | None,
) -> Labelled:
    for name, vectors in (("targets", targets), ("query bank", query_bank), ("target bank", target_bank)):
        if vectors is not None:
            raise InputError(name, "none beside similarities, which stand for all vectors", "some")
    matrices = given.open()
    return Labelled(pairs_of(matrices, relevant), matrices.bank_vectors(), matrices.target_bank_vectors())


def _drawn(trial: Trial, size: int, seed: int) -> Trial:
    """The trial with some of its bank, drawn at random."""
    count = len(trial.query_bank)
    if size > count:
        raise InputError("bank size", f"at most the {count} queries of the bank", size)
    rows = np.random.default_rng(seed).choice(count, size, replace=False)
    return replace(trial, query_bank=trial.query_bank[np.sort(rows)])


def _shared(first: F32, second: F32) -> int:
    return len(_distinct(first) & _distinct(second))


def _distinct(vectors: F32) -> set[bytes]:
    return {row.tobytes() for row in vectors}
