"""Blocks so small that a small problem takes many of them."""

import pytest

from hubless import kernels, similarities, streaming


@pytest.fixture
def small_blocks(monkeypatch):
    """5 targets by 7 bank queries at a time, reduced in strips; sizes 4 to 15 straddle them."""
    for module, name, value in (
        (streaming, "TARGET_ROWS", 5),
        (streaming, "BANK_ROWS", 7),
        (streaming, "STRIP_ROWS", 3),
        (streaming, "RESIDENT_BYTES", 0),
        (kernels, "TARGET_ROWS", 5),
        (kernels, "STRIP_SIZE", 16),
        (similarities, "STRIP_SIZE", 16),
        (similarities, "SLAB_COLUMNS", 4),
        (similarities, "FACTORS_SIZE", 16),
    ):
        monkeypatch.setattr(module, name, value)
