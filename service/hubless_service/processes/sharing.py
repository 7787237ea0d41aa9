"""How the threads of a process share the interpreter, so that none keeps the event loop waiting."""

import gc
import sys

SWITCH_SECONDS = 0.0001
"""How long a thread may keep the others from running Python. By default it is 5 ms: longer than many a search takes."""

THRESHOLDS = (10_000, 10, 1000)
"""Collections of garbage, by generation. A full one stops all threads for as long as it takes to look at every object:
100 ms while a large answer is made. Nearly all garbage is found when it is young."""


def share_python() -> None:
    """Switch between threads often, and seldom stop all of them to collect garbage."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.collect()
    gc.freeze()  # what has been imported by now stays
    gc.set_threshold(*THRESHOLDS)
