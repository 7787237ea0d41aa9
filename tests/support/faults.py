"""Let a process that changes a catalog be killed, or be refused by the disk, at each of its steps in turn.

Run as a script, because a process that has computed in threads must not fork: it imports what it needs and forks once a
moment, each time with a copy of the catalog of its own.
"""

import errno
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support import processes

OPERATIONS = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "fcntl.flock", "fsync")
TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class Outcome:
    """What became of an action: `catalog` as it was left, and where and how the action ended."""

    catalog: Path
    operation: str | None
    error: str | None
    text: str = ""


def run(action, fault, template, root):
    """Do an action on copies of a catalog (or on none), with a fault at another moment each time; the outcomes.

    Parameters
    ----------
    action : a name in ACTIONS
    fault : "kill" and "refuse" at each change of the file system, "limit" by sizes of files, "anytime:15" by the clock,
        so many times; "full:15" by what is left of the disk that `root` is on
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


def at_each_operation(catalog, number, report, fault):
    """Strike before change `number` that this process makes to files of the catalog."""
    count = 0

    def strike(event, args):
        nonlocal count
        opens = event == "open" and str(args[0]).startswith(str(catalog)) and args[2] & TO_WRITE
        if not opens and event not in OPERATIONS:
            return
        count += 1
        if count == number:
            report(operation=f"{event} {args[0] if args else ''}")
            if fault == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    os.fsync = lambda descriptor: sys.audit("fsync", descriptor)  # nobody cuts the power here
    sys.addaudithook(strike)


def in_child(action, catalog, prepare, delay=None):
    """Run an action in a process of its own; what it reported, and whether it ended by itself."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)

        def report(**what):
            os.write(writing, json.dumps(what).encode() + b"\n")

        try:
            prepare(report)
            ACTIONS[action](catalog)
            report(error=None)
        except BaseException as error:
            report(error=type(error).__name__, text=str(error))
        finally:
            os._exit(0)
    os.close(writing)
    if delay is not None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reading) as pipe:
        told = [json.loads(line) for line in pipe]
    os.waitpid(child, 0)
    return {"operation": None, "error": "killed", **{key: value for line in told for key, value in line.items()}}


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
    if fault in ("kill", "refuse"):
        number = 0
        while True:
            number += 1
            catalog = catalog_of(number)
            told = in_child(action, catalog, lambda report: at_each_operation(catalog, number, report, fault))  # noqa: B023
            if told["operation"] is None:
                return
            yield catalog, told
    elif fault == "limit":
        sizes = {record.size for record in small.check_complete(catalog_of(0)).manifest.files.values()}
        for number, limit in enumerate(sorted({size // part - 1 for size in sizes for part in (1, 2)}), 1):
            catalog = catalog_of(number)
            yield (
                catalog,
                in_child(action, catalog, lambda _: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))),  # noqa: B023
            )
    elif fault.startswith("full:"):
        count, most = int(fault.removeprefix("full:")), 2 * small.size_of(catalog_of("whole"))
        for number in range(count):
            catalog = catalog_of(number)
            with filled(catalog, most * number // count):
                told = in_child(action, catalog, lambda _: None)
            yield catalog, told
    else:
        for number in range(int(fault.removeprefix("anytime:"))):
            catalog = catalog_of(number)
            yield catalog, in_child(action, catalog, lambda _: None, delay=random.uniform(0, 0.06))  # noqa: S311


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
