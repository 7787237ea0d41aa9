"""Executors of passes over all targets: this process, or machines that another package brings.

An executor has the `map` of `kernels.sharding.Executor`.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from hubless.errors import InputError, brought
from hubless.kernels.sharding import on_executor
from hubless.store.durable import make_folder

LOCAL = "local"
NAMES = f"{LOCAL}, ray, or ray://HOST:PORT"
_KNOWN = r"local|ray(://.+:[0-9]+)?"
SHARED = "shared"


@contextmanager
def executing(executor: str, folder: Path) -> Iterator[None]:
    """Let passes over shared vectors run on an executor inside the block, with a folder that all its machines see.

    Raises `HublessError` if the package of the executor is not installed.
    """
    if executor == LOCAL:
        yield
        return
    made = brought("executors", "ray", f"executor {executor}", "ray")(executor)
    with closing(made) as running, on_executor(running):
        make_folder(folder / SHARED)
        try:
            yield
        finally:
            shutil.rmtree(folder / SHARED, ignore_errors=True)


def check_executor(executor: str) -> str:
    """Return the executor, or raise `InputError` if there is none of this name."""
    if not re.fullmatch(_KNOWN, str(executor)):
        raise InputError("executor", NAMES, repr(executor))
    return executor
