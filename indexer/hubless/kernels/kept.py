"""What a fit keeps of its products of bank and targets: sums over the bank, for whoever asks for these offsets next."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hubless.kernels.banks import Part
from hubless.kernels.reductions import log_sum_exp, products_with
from hubless.kernels.streaming import Products
from hubless.vectors.arrays import F64
from hubless.vectors.sources import VectorSource

KEEP_BYTES = 512 * 2**20
"""The largest matrix that is kept, and all products of some fits."""


@dataclass(frozen=True, eq=False)
class KnownSums:
    """LSE_i(q_i·t/τ + a_i) of targets, (n,), by potentials a (b,), and what tells them apart, (n,), ascending."""

    potentials: F64
    told: F64
    sums: F64

    def found(self, targets: VectorSource) -> F64 | None:
        """Return the sums of some of the targets (m, d), in any order, (m,); None if others are among them."""
        told = told_apart(targets)
        places = np.searchsorted(self.told[:-1], told)
        return self.sums[places] if (self.told[places] == told).all() else None


def told_apart(targets: VectorSource) -> F64:
    """Return the product of each target with one random direction, (n,): another, if only a last digit is."""
    return products_with(np.random.default_rng(0).standard_normal(targets.shape[1]), targets)


class Kept(NamedTuple):
    """Products with a bank, of which queries are a part."""

    bank: VectorSource
    part: Part
    products: Products

    def sums(self, temperature: float, potentials: F64) -> KnownSums:
        """Return the sums over the part by a temperature and by potentials (p,)."""
        of_bank = potentials if self.part.rows is None else self.part.spread(potentials) + self.part.mask
        sums = log_sum_exp(self.bank, self.products, temperature, of_bank)
        order = np.argsort(self.products.told)
        return KnownSums(potentials, self.products.told[order], sums[order])


class KeptProducts(dict[int, tuple[VectorSource, Products]]):
    """Products of all targets with banks, by bank, for several passes: `KEEP_BYTES` at most."""

    def room(self, bank: VectorSource, count: int) -> tuple[Products | None, bool]:
        """Return room for the products with a bank, None if there is too little, and whether they are there already."""
        made = id(bank) in self
        size = count * bank.shape[0] + sum(products.array.size for _, products in self.values())
        if not made and 4 * size <= KEEP_BYTES:
            self[id(bank)] = bank, Products(np.empty((count, bank.shape[0]), np.float32), "products", np.empty(count))
        return self.get(id(bank), (bank, None))[1], made
