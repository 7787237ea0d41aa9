"""Several query banks side by side: from several sources, of several sizes, and the one that covers least."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from hubless.vectors.files import Vectors
from hubless_lab.experiments.compare import BASELINE, compare
from hubless_lab.experiments.comparisons import Comparison
from hubless_lab.experiments.tally import Quality, Row

_LEAST = "least coverage"
_OVER_BANKS = "± of a geometric mean is the standard deviation over the banks"


def compare_banks(
    banks: Mapping[str, Vectors | None],
    *given: Any,
    bank_sizes: Sequence[int | str] = (),
    least_coverage: bool = False,
    **options: Any,
) -> Comparison:
    """Compare corrections with several query banks by name, side by side; the rest is as for `compare`.

    Banks are drawn in each of `bank_sizes`. With `least_coverage` one more bank has the queries of the first that find
    the fewest targets. The last row of a correction is the geometric mean over banks of one size (QB-Norm, CVPR 2022,
    table 2), without measures that are negative with a bank; its spread is the standard deviation over the banks.
    """
    variants = dict(_variants(banks, bank_sizes, least_coverage))
    found = {name: compare(*given, **options | variant) for name, variant in variants.items()}
    first = next(iter(found.values()))
    if len(found) == 1:
        return first
    averaged = len(bank_sizes) <= 1
    labels = dict.fromkeys(row.label for row in chain.from_iterable(other.rows for other in found.values()))
    rows = list(chain.from_iterable(_rows_of(label, found, averaged) for label in labels))
    notes = dict.fromkeys(f"{name}: {note}" for name, other in found.items() for note in other.notes)
    sizes = ", ".join(f"{name} of {other.query_bank:,}" for name, other in found.items())
    told = [f"query banks {sizes}", *[_OVER_BANKS] * averaged, *notes]
    return replace(first, rows=rows, query_bank=None, notes=told)


def _variants(
    banks: Mapping[str, Vectors | None], sizes: Sequence[int | str], least_coverage: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of each bank that is drawn, and the options that draw it."""
    drawn: Sequence[int | str | None] = sizes or [None]
    for name, bank in banks.items():
        for size in drawn:
            named = [name] * (len(banks) > 1 or len(drawn) == 1) + [f"{size}"] * (len(drawn) > 1)
            yield ", ".join(named), {"query_bank": bank, "bank_size": size}
    if least_coverage:
        first = next(iter(banks.values()))
        yield _LEAST, {"query_bank": first, "bank_size": drawn[0], "least_coverage": True, "draws": 1}


def _rows_of(label: str, found: Mapping[str, Comparison], averaged: bool) -> list[Row]:
    """Return the row of a correction with each bank, and their mean if it is wanted; the baseline has one row."""
    each = {name: row for name, other in found.items() for row in other.rows if row.label == label}
    row = next(iter(each.values()))
    if row.name == BASELINE:
        return [row]
    rows = [replace(one, label=f"{label} ({name})") for name, one in each.items()]
    return [*rows, _geometric_mean(row, [one.quality for one in each.values()])] if averaged else rows


def _geometric_mean(row: Row, qualities: Sequence[Quality]) -> Row:
    values = {name: [each[name] for each in qualities] for name in row.quality}
    positive = {name: found for name, found in values.items() if min(found) >= 0}
    empty: dict[str, Any] = {"intervals": {}, "change": None, "mcnemar": None, "p_value": None}
    return replace(
        row,
        label=f"{row.label} (geometric mean)",
        quality={name: float(np.prod(found) ** (1 / len(found))) for name, found in positive.items()},
        spread={name: float(np.std(found, ddof=1)) for name, found in positive.items()} if len(qualities) > 1 else None,
        **empty,
    )
