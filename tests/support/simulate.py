"""Many simulated histories, in several processes: `make simulate`. See `support.simulation`."""

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support import calls

MEMORY = Path("/dev/shm")  # noqa: S108
"""A file system in memory that uses no inode twice, as `support.simulation.Disk` needs it."""
POSSIBLE = calls.COMPILER is not None and MEMORY.is_dir()
_CHUNK = 1000


def simulate(first, count, jobs=None, report=lambda line: None):
    """Play the histories of some seeds. Return what is wrong, by seed, and how much was done."""
    wrong, done = {}, Counter()
    with tempfile.TemporaryDirectory(dir=MEMORY, prefix="hubless-") as made:
        folder, script = Path(made), Path(__file__).with_name("simulation.py")
        calls.compile_into(folder)
        jobs = jobs or os.cpu_count() or 1
        chunk = min(_CHUNK, -(-count // jobs))

        def play(start):
            most = min(chunk, first + count - start)
            return calls.run(folder, script, folder / str(start), start, most)

        with ThreadPoolExecutor(jobs) as pool:
            for printed in pool.map(play, range(first, first + count, chunk)):
                for line in map(json.loads, printed.splitlines()):
                    if "problem" in line:
                        wrong[line["seed"]] = line["problem"]
                        report(f"seed {line['seed']}: {line['problem']}")
                        report(f'again: make simulate ARGS="--first {line["seed"]} --count 1"')
                    else:
                        done.update(line)
    return wrong, done


def main():
    parser = argparse.ArgumentParser(description="Play random histories of a catalog and check each.")
    parser.add_argument("--count", type=int, default=100_000, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, help="processes; by default one a core")
    given = parser.parse_args()
    if not POSSIBLE:
        sys.exit("make simulate needs Linux, a C compiler and /dev/shm")
    wrong, done = simulate(given.first, given.count, given.jobs, lambda line: print(line, flush=True))
    print(f"{len(wrong)} of {given.count:,} histories are wrong;", json.dumps(done))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
