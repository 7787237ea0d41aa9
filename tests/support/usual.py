"""What is the same for the tests of every ring, named by their conftest.py: signals as usual, and a quick disk."""

import os
import signal

import pytest


def pytest_configure():
    """Let processes that tests start have signals as usual: under `nohup` or `&` they would ignore SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _quick_sync(monkeypatch):
    """Nobody cuts the power in a test, and waiting for the disk takes most of the time of a small build."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
