"""Let a process change a catalog while the disk has some room left, another amount each time.

Run as a script, because a process that has computed in threads must not fork: it imports what it needs and forks once a
moment, each time with a copy of the catalog of its own.
"""

import errno
import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support import processes


@dataclass(frozen=True)
class Outcome:
    """What became of an action: `catalog` as it was left, and how the action ended."""

    catalog: Path
    error: str | None
    text: str = ""


def run(action, fault, template, root):
    """Do an action on copies of a catalog (or on none), with a fault at another moment each time; the outcomes.

    Parameters
    ----------
    action : a name in ACTIONS
    fault : "full:15" for 15 amounts of what is left of the disk that `root` is on
    """
    command = [sys.executable, __file__, action, fault, str(template), str(root)]
    done = subprocess.run(command, env=processes.environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [Outcome(**{**line, "catalog": Path(line["catalog"])}) for line in lines]


def build(catalog):
    small.build_full(catalog, data=7)


def rollback(catalog):
    hubless.Catalog(catalog).rollback("photos")


def prune(catalog):
    hubless.Catalog(catalog).prune("photos", 1)


def alias(catalog):
    hubless.Catalog(catalog).set_alias("pictures", "photos")


ACTIONS = {"build": build, "rollback": rollback, "prune": prune, "alias": alias}


def in_child(action, catalog):
    """Run an action in a process of its own; what it reported, and whether it ended by itself."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)

        def report(**what):
            os.write(writing, json.dumps(what).encode() + b"\n")

        try:
            ACTIONS[action](catalog)
            report(error=None)
        except BaseException as error:
            report(error=type(error).__name__, text=str(error))
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = [json.loads(line) for line in pipe]
    os.waitpid(child, 0)
    return {"error": "killed", **{key: value for line in told for key, value in line.items()}}


@contextmanager
def filled(path, left):
    """Fill the disk of a path, but for so many bytes."""
    ballast = Path(path).parent / "ballast"
    with ballast.open("wb") as file:
        while (size := shutil.disk_usage(path).free - left) > 0:
            try:
                os.posix_fallocate(file.fileno(), 0, size)
                break
            except OSError as error:  # somebody else took some of it just now
                if error.errno != errno.ENOSPC:
                    raise
    try:
        yield
    finally:
        ballast.unlink()


def moments(action, fault, catalog_of):
    """Run the action once a moment."""
    count, most = int(fault.removeprefix("full:")), 2 * small.size_of(catalog_of("whole"))
    for number in range(count):
        catalog = catalog_of(number)
        with filled(catalog, most * number // count):
            told = in_child(action, catalog)
        yield catalog, told


def main(action, fault, template, root):
    def catalog_of(number):
        catalog = Path(root) / str(number)
        if Path(template).exists():
            shutil.copytree(template, catalog)
        return catalog

    for catalog, told in moments(action, fault, catalog_of):
        print(json.dumps({"catalog": str(catalog), **told}), flush=True)


if __name__ == "__main__":
    from support import small

    import hubless

    small.vectors(1, 0)  # imports what numpy imports late, once instead of in each child
    main(*sys.argv[1:])
