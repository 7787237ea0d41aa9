"""Where passes over all targets run: this process, processes of this machine, or a Ray cluster.

Stands on `kernels.sharding`. A new executor is a file here with a class that has `map`, and an entry in `EXECUTORS`.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from hubless.builder.executors.cluster import on_ray
from hubless.builder.executors.processes import in_processes
from hubless.errors import InputError
from hubless.kernels.devices import CPU
from hubless.kernels.sharding import Executor, on_executor
from hubless.store.durable import make_folder

LOCAL = "local"
EXECUTORS: dict[str, Callable[[str], AbstractContextManager[Executor]]] = {
    r"processes(:[1-9][0-9]*)?": in_processes,
    r"ray(://.+:[0-9]+)?": on_ray,
}
"""By a pattern of their names."""
NAMES = f"{LOCAL}, processes, processes:NUMBER, ray, or ray://HOST:PORT"


SHARED = "shared"


@contextmanager
def executing(executor: str, folder: Path) -> Iterator[None]:
    """Let passes over shared vectors run on an executor, inside the `with` block.

    Parameters
    ----------
    folder : all machines of the executor see it. Vectors are put into a folder in it, which is removed at the end
    executor : "local", this process; "processes" or "processes:4", of this machine; "ray", the cluster that RAY_ADDRESS
        names or that this machine is part of, or else a new one on this machine; "ray://HOST:PORT", a cluster that has
        a Ray client server there

    Raises
    ------
    InputError
        if there is no such executor, it does not answer, or Ray is not installed.
    """
    if executor == LOCAL:
        yield
        return
    with _opener(executor)(executor) as running, on_executor(running):
        make_folder(folder / SHARED)
        try:
            yield
        finally:
            shutil.rmtree(folder / SHARED, ignore_errors=True)


def check_executor(executor: str, device: str) -> str:
    """The executor, or an `InputError` if there is none of this name, or it does not compute on this device."""
    if executor != LOCAL:
        _opener(executor)
        if device != CPU:
            raise InputError("executor", f"{LOCAL} with device {device}; others compute with device {CPU}", executor)
    return executor


def _opener(executor: str) -> Callable[[str], AbstractContextManager[Executor]]:
    for pattern, opener in EXECUTORS.items():
        if re.fullmatch(pattern, executor):
            return opener
    raise InputError("executor", NAMES, repr(executor))
