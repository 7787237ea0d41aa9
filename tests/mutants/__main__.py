"""Make each fault in a copy of its package, and run the tests that are to catch it: `make mutants`.

`ARGS="'store 3' corrections"` takes some by number or room. What no test catches, and what fails without any fault,
ends it with 1.
"""

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from mutants.faults import FAULTS, PLACES, ROOT, Fault

SECONDS = 300
"""Of the tests of a fault; an endless loop is caught, too."""
TOGETHER = 2
NOWHERE = Path()
PYTEST = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not slow"]


def fail(tests: Iterable[str], packages: Path) -> bool:
    """Return whether tests fail with the packages in a folder in place of the others, or take too long."""
    env = os.environ | {"PYTHONPATH": str(packages), "OMP_NUM_THREADS": "1"}
    files = [f"tests/{each}" for each in tests]
    try:
        ran = subprocess.run(
            [*PYTEST, *files], cwd=ROOT, env=env, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    if ran.returncode not in (0, 1):
        raise RuntimeError(f"pytest could not run {files}: {ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    return bool(ran.returncode)


def tried(fault: Fault) -> str:
    """Return where a fault is caught, `beside` or `elsewhere`, or `missed`."""
    package = fault.file.parts[0]
    with TemporaryDirectory() as folder:
        shutil.copytree(PLACES[package] / package, Path(folder) / package)
        (Path(folder) / fault.file).write_text(fault.text(), "utf-8")
        for where, tests in (("beside", fault.beside), ("elsewhere", fault.elsewhere)):
            if tests and fail(tests, Path(folder)):
                return where
    return "missed"


def main(wanted: list[str]) -> int:
    """Try some faults, or all, and print a line of each. Return the exit status."""
    faults = [each for each in FAULTS if not wanted or {each.name, each.name.split()[0]} & {*wanted}]
    counts = Counter[str]()
    with ThreadPoolExecutor(TOGETHER) as pool:
        for fault, found in zip(faults, pool.map(tried, faults), strict=True):
            counts[found] += 1
            print(f"{fault.name:<15} {found:<9} {fault.file}: {fault.why}", flush=True)
        whole = {test for fault in faults for test in (*fault.beside, *fault.elsewhere)}
        broken = [
            test
            for test, fails in zip(whole, pool.map(lambda test: fail([test], NOWHERE), whole), strict=True)
            if fails
        ]
    print(", ".join(f"{count} {found}" for found, count in counts.most_common()))
    if broken:
        print(f"these fail without any fault: {', '.join(sorted(broken))}")
    return int(bool(broken or counts["missed"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
