"""Both sums of a Sinkhorn step from one product of bank and targets.

A step needs the sum over the bank for each target, and then a sum over all targets for each bank query. The second one
needs of the first only those of the same target. So a block of targets with all of the bank is enough for both, and a
step that is not kept in memory costs one product instead of two.
"""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from hubless.kernels import devices
from hubless.kernels.reductions import STRIP_SIZE, log_sum_exp
from hubless.kernels.streaming import BANK_ROWS, TARGET_ROWS
from hubless.kernels.threads import cores, one_blas_thread, slices
from hubless.vectors.arrays import F32, F64
from hubless.vectors.sources import VectorSource, block_rows, in_memory

BLOCK_SIZE = 2**23
"""Similarities of a block: 32 MiB a core."""
LEAST_SHARE = 1e-30
"""A bank query with a smaller share of a softmax has lost digits in float32."""


def coupled_sums(bank: VectorSource, targets: VectorSource, temperature: float, potentials: F64) -> tuple[F64, F64]:
    """Return L_j = LSE_i(q_i·t_j/τ + a_i) for each target, and LSE_j(q_i·t_j/τ − L_j) for each bank query.

    Equal inputs give equal bytes on the same number of cores.

    Parameters
    ----------
    bank : (b, d)
    targets : (n, d)
    temperature : τ, in units of similarity
    potentials : (b,) a

    Returns
    -------
    (n,) and (b,), both float64. With P_ij = exp(q_i·t_j/τ + a_i − L_j), the second is log Σ_j P_ij − a_i.
    """
    if devices.current():
        over_bank = log_sum_exp(bank, targets, temperature, potentials)
        return over_bank, log_sum_exp(targets, bank, temperature, -over_bank)
    over_bank, shares = _streamed(in_memory(bank), targets, temperature, potentials)
    if shares.min() < LEAST_SHARE:
        return over_bank, log_sum_exp(targets, bank, temperature, -over_bank)
    return over_bank, np.log(shares) - potentials


def _streamed(bank: F32, targets: VectorSource, temperature: float, potentials: F64) -> tuple[F64, F64]:
    """Return L (n,) and Σ_j P_ij (b,)."""
    over_bank, shares = np.empty(targets.shape[0]), np.zeros(len(bank))
    scale, added = np.float32(1 / temperature), potentials.astype(np.float32)
    rows = max(1, min(TARGET_ROWS, BLOCK_SIZE // len(bank)))
    pending: deque[tuple[int, Future[tuple[F64, F64]]]] = deque()

    def collect() -> None:
        start, future = pending.popleft()
        sums, part = future.result()
        over_bank[start : start + len(sums)] = sums
        np.add(shares, part, out=shares)

    with one_blas_thread, ThreadPoolExecutor(cores(), "hubless-kernel") as pool:
        start = 0
        for given in targets.blocks(block_rows(targets.shape[1])):
            for some in slices(len(given), rows):
                pending.append((start + some.start, pool.submit(_reduce, given[some], bank, scale, added)))
                if len(pending) > cores():  # so that products do not accumulate
                    collect()
            start += len(given)
        while pending:
            collect()
    return over_bank, shares


def _reduce(targets: F32, bank: F32, scale: np.float32, added: F32) -> tuple[F64, F64]:
    products = np.empty((len(targets), len(bank)), np.float32)
    for columns in slices(len(bank), BANK_ROWS):
        np.matmul(targets, bank[columns].T, out=products[:, columns])
    sums, shares = np.empty(len(targets)), np.zeros(len(bank), np.float32)
    for strip in slices(len(products), max(1, STRIP_SIZE // len(bank))):
        exponents = products[strip]
        exponents *= scale
        exponents += added
        shift = exponents.max(axis=1)
        exponents -= shift[:, np.newaxis]
        np.exp(exponents, out=exponents)
        total = exponents.sum(axis=1, dtype=np.float32)
        shares += (1 / total) @ exponents
        sums[strip] = shift + np.log(total.astype(np.float64))
    return sums, shares.astype(np.float64)
