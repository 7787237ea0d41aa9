"""Fits over the same targets, in step: they make their passes together, and keep the products with a small bank."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from hubless.kernels.banks import shared
from hubless.kernels.coupling import Coupled, Pass, coupled
from hubless.kernels.reductions import products_with
from hubless.kernels.sharding import is_sharded
from hubless.kernels.similarities import products, rows_kept
from hubless.kernels.streaming import Products
from hubless.vectors.arrays import F32, F64
from hubless.vectors.sources import ChangedVectors, HeldVectors, VectorSource

_T = TypeVar("_T")
Fitting: TypeAlias = Generator[Pass, Coupled, _T]
"""A fit that asks for one pass after the other, and goes on with what it leaves."""


def fingerprints(targets: VectorSource) -> F64:
    """Return the product of each target with one random direction, (n,): another one if only a last digit is."""
    return products_with(np.random.default_rng(0).standard_normal(targets.shape[1]), targets)


def in_step(fits: Sequence[Fitting[_T]]) -> tuple[list[_T], Products | None]:
    """Return the result of each fit, and products that are kept: those with a bank that all banks are parts of."""
    kept: Products | None = None
    asked: dict[int, Pass] = {}
    done: dict[int, _T] = {}

    def go_on(number: int, found: Coupled | None) -> None:
        try:
            # a generator begins with None
            asked[number] = fits[number].send(found)  # type: ignore[arg-type]
        except StopIteration as end:
            done[number] = end.value

    def tell(rows: F32, name: str, first: Any) -> F32:
        told[first : first + len(rows)] = fingerprints(HeldVectors(rows, name))
        return rows

    for number in range(len(fits)):
        go_on(number, None)
    while asked:
        passes, asked = asked, {}
        targets = next(iter(passes.values())).targets
        (bank, _), *others = shared([each.bank for each in passes.values()])
        small = len(passes) == len(fits) and bank.shape[0] <= rows_kept(targets.shape[0])
        if small and not (kept or others or is_sharded(targets)):
            told = np.empty(targets.shape[0])
            kept = Products(products(ChangedVectors(targets, tell), bank), targets.name, bank, told)
        if kept is not None and kept.bank is bank and not others:
            passes = {number: replace(each, targets=kept) for number, each in passes.items()}
        for number, found in zip(passes, coupled(list(passes.values())), strict=True):
            go_on(number, found)
    return [done[number] for number in range(len(fits))], kept
