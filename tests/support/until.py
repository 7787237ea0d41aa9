"""Waiting for what happens in another thread or process."""

import time

LONGEST = 120
"""Seconds: only what never happens takes as long."""


def until(happened):
    end = time.monotonic() + LONGEST
    while not (found := happened()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return found
