"""Checks of a query bank: it may hold targets, be too small or too narrow, or come from another model. And its parts.

The limits were checked on six real sets, whose banks pass them all; docs/concepts.md has the numbers.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from hubless.corrections.grouped import coded
from hubless.errors import InputError, advice
from hubless.measures.bank_record import BankRecord
from hubless.measures.coverage import coverage
from hubless.measures.likeness import related, share_among, told_apart
from hubless.measures.repeats import copies_of, without_copies
from hubless.vectors.arrays import F32, check_dim
from hubless.vectors.comparing import comparison
from hubless.vectors.sources import (
    SelectedVectors,
    VectorSource,
    column_of,
    in_memory,
    plain_vectors,
    sample,
    sampled_rows,
)

LOOKED_UP, COMPARED = 256, 1000
"""So many bank queries are looked up among the targets; so many of each side are compared as clouds."""
COVERED = 4096
"""So many targets are what a bank may cover."""
LOW_COVERAGE = 0.75
"""A bank that covers less is narrow. Right banks of real sets reach 0.79, banks of one topic 0.36 to 1."""
MOST_TARGETS, HALF_TARGETS = 0.1, 0.4
"""A bank of which a larger share are targets is refused where it lies with them; above the second one everywhere."""
FEW_TARGETS = 0.02
"""A smaller share is chance: now and then a query and a target are the same."""
_FEWEST = 20
"""A bank of fewer is hardly better than none."""
ENOUGH_TO_COMPARE = 200
"""Clouds of fewer are told apart too uncertainly."""
ENOUGH_TO_RELATE = 100
LIKE_TARGETS = 0.57
"""Bank and targets that are told apart no better than this are one cloud. Real banks reach 0.65 and more."""
UNRELATED = 0.65
"""Queries no nearer to targets than this come from another model. Real banks reach 0.99."""
MOST_REPEATED = 0.25
OTHER_LENGTH = 4.0
"""Lengths that differ by this factor, under metric "dot", come from another model."""

WITHOUT_BANK = "no query bank was given: offsets are 0, and nothing is corrected"

_log = logging.getLogger("hubless.banks")


def without_queries() -> str:
    """Return what to do where no example queries are known yet."""
    none = advice(" ({})", "correction", "none")
    return (
        "No queries yet? Encode captions or titles of your items as queries, or questions that a language model writes "
        f"about items. Or start with correction none{none}, which needs no bank, let the service keep a "
        "sample of live queries (HUBLESS_QUERY_SAMPLE), and build again with these: they are the best bank"
    )


def _of_targets() -> str:
    taken = advice(". {} takes this bank all the same", "bank_of_targets", "true")
    return f"A correction that is measured with targets makes search worse. {without_queries()}{taken}"


@dataclass(frozen=True)
class CheckedBank:
    """The numbers, what is to be said about them, and the different queries of the bank, which corrections take."""

    record: BankRecord
    notes: list[str]
    once: VectorSource

    def logged(self) -> "CheckedBank":
        for note in self.notes:
            _log.warning(note)
        return self


def check_bank(
    bank: VectorSource, targets: VectorSource, metric: str, *, bank_of_targets: bool = False, seed: int = 0
) -> CheckedBank:
    """Examine a query bank (b, d) for targets (n, d), both as they are compared, before it is used."""
    check_dim(bank.shape[1], targets.shape[1], bank.name, targets.name)
    plain = plain_vectors(targets, metric)
    groups = column_of(bank, "groups")
    once = without_copies(bank, None if groups is None else coded(groups)[1], metric)
    some, others = (_shuffled(source, seed) for source in (plain_vectors(once, metric), plain))
    fewest = min(len(some), len(others))
    enough = len(some) >= _FEWEST and len(others) >= ENOUGH_TO_RELATE
    asked = int(copies_of(bank).sum())
    record = BankRecord(
        queries=asked,
        repeated=round(1 - once.shape[0] / asked, 4),
        distinct=once.shape[0],
        among_targets=round(share_among(in_memory(sample(once, LOOKED_UP, seed)), targets, metric), 4),
        apart_from_targets=_rounded(told_apart(some, others) if fewest >= ENOUGH_TO_COMPARE else None),
        related_to_targets=_rounded(related(some, others, seed) if enough else None),
        relative_length=_rounded(_relative_length(some, others)) if comparison(metric).takes_zero else None,
        coverage=covered(once, targets, metric, seed),
    )
    if is_of_targets(record) and once.shape[0] >= _FEWEST and not bank_of_targets:
        raise InputError(bank.name, "example queries", f"{100 * record.among_targets:.0f} % targets. {_of_targets()}")
    return CheckedBank(record, _notes(record), once)


def refuse_targets_for_queries(bank: F32, targets: F32, queries: F32) -> None:
    """Raise `InputError` where the bank lies with the targets, and the queries that test it do not."""
    clouds = [rows[np.random.default_rng(0).permutation(len(rows))[:COMPARED]] for rows in (bank, targets, queries)]
    if min(map(len, clouds)) < ENOUGH_TO_COMPARE:
        return
    apart = told_apart(clouds[0], clouds[1])
    tested = told_apart(clouds[0], clouds[2])
    if apart <= LIKE_TARGETS and tested > 0.5 + 2 * (LIKE_TARGETS - 0.5):
        received = f"a bank that lies with the targets, and apart from the test queries. {_of_targets()}"
        raise InputError("query bank", "example queries", received)


def _shuffled(source: VectorSource, seed: int) -> F32:
    rows = in_memory(sample(source, COMPARED, seed))
    return rows[np.random.default_rng(seed).permutation(len(rows))]


def covered(bank: VectorSource, targets: VectorSource, metric: str, seed: int = 0) -> float | None:
    """Return the share of the targets (n, d) that a bank (b, d) covers, by samples; None for too few of either."""
    some = in_memory(sample(targets, COVERED, seed))
    return _rounded(coverage(_shuffled(bank, seed), some, seed, metric))


def _relative_length(bank: F32, targets: F32) -> float:
    lengths = [float(np.median(np.linalg.norm(rows, axis=1))) for rows in (bank, targets)]
    return lengths[0] / lengths[1] if lengths[1] else float("inf")


def _rounded(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(f"{value:.3g}")


UNUSABLE = (
    "The query bank has nothing to do with the targets: its queries are no nearer to targets than random vectors are. "
    "Is it from the same model?"
)


def is_of_targets(bank: BankRecord) -> bool:
    """Return whether a bank looks drawn from the targets. Where people type titles, other queries lie elsewhere."""
    apart = bank.apart_from_targets
    most = MOST_TARGETS if apart is not None and apart <= LIKE_TARGETS else HALF_TARGETS
    return bank.among_targets > most


def is_unusable(bank: BankRecord) -> bool:
    """Return whether queries are no nearer to targets than strangers, as those of another model are."""
    return bank.related_to_targets is not None and bank.related_to_targets <= UNRELATED


def narrow_notes(bank: BankRecord) -> list[str]:
    """Return advice about a bank that leaves out a part of the targets; nothing about others."""
    if bank.coverage is None or bank.coverage >= LOW_COVERAGE:
        return []
    return [
        f"The query bank covers only {100 * bank.coverage:.0f} % of the targets, so the correction is measured for "
        "these and may harm the others. Add queries about the others, as people ask them, and build again."
    ]


def _notes(bank: BankRecord) -> list[str]:
    """Return what there is to say of a bank: few queries, targets among them, another model, a log, another length."""
    notes = []
    if (different := bank.distinct or bank.queries) < _FEWEST:
        notes.append(
            f"The query bank has only {different} queries. Offsets from so few are mostly noise: give it 100 at "
            "least, 1,000 or more are better."
        )
    if bank.among_targets > FEW_TARGETS:
        notes.append(
            f"{100 * bank.among_targets:.3g} % of the different queries are targets, as where people type titles. A "
            "target finds itself first, which no other query does."
        )
    elif bank.apart_from_targets is not None and bank.apart_from_targets <= LIKE_TARGETS:
        notes.append(
            "The query bank lies where the targets lie: it may hold items, not queries. If people search with "
            "something else, such as texts for images or questions for pages, take such queries, or search gets worse."
        )
    if is_unusable(bank):
        notes.append(UNUSABLE)
    else:
        notes += narrow_notes(bank)
    if bank.repeated > MOST_REPEATED:
        notes.append(
            f"The query bank is a log: {100 * bank.repeated:.0f} % repeat other queries. Each counts once; how often "
            "it was asked says whose first answer is kept."
        )
    if bank.relative_length is not None and not 1 / OTHER_LENGTH < bank.relative_length < OTHER_LENGTH:
        notes.append(
            f"Bank queries are {bank.relative_length:.3g} times as long as targets, and lengths count under "
            "this metric. Is the query bank from the same model, and scaled alike?"
        )
    return notes


HELD_OUT_SHARE, MOST_HELD_OUT = 0.1, 1000
_BANK_SAMPLE = 512


def hold_out(bank: VectorSource, seed: int) -> tuple[VectorSource, F32]:
    """Split a bank into queries to make an index by, and queries (m, d) to tune it. A bank of fewer than 10 is both."""
    count = bank.shape[0]
    held = min(MOST_HELD_OUT, int(HELD_OUT_SHARE * count))
    if held == 0:
        return bank, bank.take(np.arange(count))
    chosen = sampled_rows(count, held, seed)
    kept = np.setdiff1d(np.arange(count), chosen)
    return SelectedVectors(bank, kept, bank.name), bank.take(chosen)


@contextmanager
def naming_held_out(bank: VectorSource, fitting: VectorSource) -> Iterator[None]:
    """If the query bank is too small, say in the error how many of its rows were held out."""
    try:
        yield
    except InputError as error:
        held = bank.shape[0] - fitting.shape[0]
        if not held or error.parameter != bank.name or error.received != str(fitting.shape[0]):
            raise
        received = f"{error.received}, as {held} of {bank.shape[0]} are held out to measure with"
        raise InputError(error.parameter, error.expected, received) from error


def bank_sample(bank: VectorSource, seed: int) -> F32:
    """Return at most 512 queries of the bank, drawn at random."""
    return bank.take(sampled_rows(bank.shape[0], _BANK_SAMPLE, [seed, 1]))
