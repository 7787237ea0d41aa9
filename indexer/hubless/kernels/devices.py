"""Devices on which offsets are computed: NumPy on the processor, or torch."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from hubless.errors import InputError, how_to_install
from hubless.progress import Advance
from hubless.vectors.arrays import F32, F64
from hubless.vectors.sources import VectorSource

CPU = "cpu"
TORCH = "torch:"
_NAMES = f"{CPU}, cuda, cuda:NUMBER, or {TORCH}NAME for any other device of torch"
DEVICE_ROWS = 4096
"""Targets, and bank queries, of one product: 64 MB."""


@contextmanager
def on_device(name: str) -> Iterator[None]:
    """Let offsets inside be computed on a device. Raises `InputError` if there is none such, or no torch."""
    token = _current.set(None if name == CPU else open_device(name))
    try:
        yield
    finally:
        _current.reset(token)


def current() -> "TorchDevice | None":
    """Return the current device; None for NumPy."""
    return _current.get()


def open_device(name: str) -> "TorchDevice":
    """Open a device of torch, and check that it works."""
    known = name.startswith(TORCH) or name.partition(":")[0] == "cuda"
    if not known:
        raise InputError("device", _NAMES, name)
    try:
        import torch  # an extra
    except ImportError as error:
        raise InputError("device", f"{CPU}, or torch: {how_to_install('torch')}", name) from error
    try:
        device = torch.device(name.removeprefix(TORCH))
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError("device", "one that torch finds on this machine", f"{name}: {reason}") from error
    return TorchDevice(torch, device)


@dataclass(frozen=True)
class TorchDevice:
    """The streamed reductions on a device of torch: float32 products, float64 sums of blocks."""

    torch: Any
    device: Any

    def log_sum_exp(
        self, bank: VectorSource, targets: VectorSource, temperature: float, potentials: F64 | None, advance: Advance
    ) -> F64:
        added = np.zeros(bank.shape[0]) if potentials is None else potentials

        def reduce(total: Any, products: Any, first: int) -> Any:
            exponents = products / temperature + self._tensor(added[first : first + products.shape[1]])
            block = self.torch.logsumexp(exponents, 1).to(self.torch.float64)
            return block if total is None else self.torch.logaddexp(total, block)

        sums: F64 = self._stream(bank, targets, reduce, advance)
        return sums

    def top_k(self, bank: VectorSource, targets: VectorSource, k: int, advance: Advance) -> F32:

        def reduce(largest: Any, products: Any, first: int) -> Any:
            candidates = products if largest is None else self.torch.cat([largest, products], 1)
            return self.torch.topk(candidates, min(k, candidates.shape[1]), 1).values

        largest: F32 = self._stream(bank, targets, reduce, advance)
        return largest

    def _stream(self, bank: VectorSource, targets: VectorSource, reduce: Any, advance: Advance) -> Any:
        parts = []
        for block in targets.blocks(DEVICE_ROWS):
            rows, first = self._tensor(block), 0
            reduced: Any = None
            for bank_block in bank.blocks(DEVICE_ROWS):
                reduced = reduce(reduced, rows @ self._tensor(bank_block).T, first)
                first += len(bank_block)
            parts.append(reduced.cpu().numpy())
            advance(len(block))
        return np.concatenate(parts)

    def _tensor(self, array: Any) -> Any:
        return self.torch.asarray(array, dtype=self.torch.float32, device=self.device, copy=True)


_current: ContextVar[TorchDevice | None] = ContextVar("device", default=None)
