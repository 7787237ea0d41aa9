"""What is the same for the tests of every ring, named by their conftest.py: signals, a quick disk, a problem."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.problems import with_hubs

from hubless.errors import TAKEN

CASE_A = Path(__file__).parents[1] / "golden" / "case_a.npz"


def pytest_configure():
    """Let processes that tests start have signals as usual: under `nohup` or `&` they would ignore SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _quick_sync(monkeypatch):
    """Nobody cuts the power in a test, and waiting for the disk takes most of the time of a small build."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(autouse=True)
def _no_command():
    """Errors advise as in Python, whatever command a test before has run in this process."""
    TAKEN.set(None)


@pytest.fixture(scope="session")
def golden():
    with np.load(CASE_A, allow_pickle=False) as archive:
        return dict(archive)


@pytest.fixture(scope="session")
def problem():
    made = with_hubs(targets=400, bank=90, target_bank=60, queries=25, dim=16, seed=7)
    unit = {name: rows / np.linalg.norm(rows, axis=1, keepdims=True) for name, rows in vars(made).items()}
    return replace(made, **unit)
