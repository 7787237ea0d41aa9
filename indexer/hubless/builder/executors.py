"""Executors of passes over all targets: this process, or a Ray cluster.

An executor has the `map` of `kernels.sharding.Executor`. Ray is an extra.
Source: Moritz et al., "Ray: A Distributed Framework for Emerging AI Applications", OSDI 2018.
"""

import os
import re
import shutil
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from hubless.errors import ExecutorFailed, InputError, how_to_install, one_line
from hubless.kernels.sharding import Task, on_executor
from hubless.kernels.threads import cores
from hubless.store.durable import make_folder

LOCAL = "local"
NAMES = f"{LOCAL}, ray, or ray://HOST:PORT"
_KNOWN = r"local|ray(://.+:[0-9]+)?"
SHARED = "shared"
MOST_LOSSES = 3
"""Shards are done again when a machine is lost, but not for ever: one of them may be what kills it."""
PENDING_A_CORE = 2
"""Shards that wait for each core, so that none is idle and results do not pile up."""
LEAST_PENDING = 16
OWN_STORE_BYTES = 512 * 2**20
"""The object store of a Ray cluster that is begun here. It holds banks and potentials, but no vectors of targets."""
ANSWER_SECONDS = 5.0
_T = TypeVar("_T")


@contextmanager
def executing(executor: str, folder: Path) -> Iterator[None]:
    """Let passes over shared vectors run on an executor inside the block, with a folder that all its machines see."""
    check_executor(executor)
    if executor == LOCAL:
        yield
        return
    with closing(RayExecutor(executor)) as running, on_executor(running):
        make_folder(folder / SHARED)
        try:
            yield
        finally:
            shutil.rmtree(folder / SHARED, ignore_errors=True)


def check_executor(executor: str) -> str:
    """Return the executor, or raise `InputError` if there is none of this name."""
    if not re.fullmatch(_KNOWN, executor):
        raise InputError("executor", NAMES, repr(executor))
    return executor


class RayExecutor:
    """Stateless tasks on a Ray cluster: the one that this process is connected to, or that the name says."""

    def __init__(self, name: str) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray  # an extra
        except ImportError as error:
            raise InputError("executor", f"an installed Ray: {how_to_install('ray')}", repr(name)) from error
        self._ray = ray
        self._ours = not ray.is_initialized()
        if self._ours:
            _connect(ray, name)
        # an error of the work ends it, but for those of a disk or network that may recover
        self._do = ray.remote(num_cpus=1, max_retries=MOST_LOSSES, retry_exceptions=[OSError])(_do)

    def map(self, work: Callable[..., _T], tasks: Iterable[Task]) -> Iterator[_T]:
        """Yield what `work` returns for each task, in their order. A few a core of the cluster are pending.

        Raises what the work raised, and `ExecutorFailed` if the cluster fails.
        """
        errors = self._ray.exceptions
        coming = iter(tasks)
        pending = deque[Any]()
        try:
            shared = self._ray.put(work)
            while True:
                most = max(LEAST_PENDING, PENDING_A_CORE * int(self._ray.cluster_resources().get("CPU", 0)))
                while len(pending) < most and (task := next(coming, None)) is not None:
                    pending.append(self._do.remote(shared, task))
                if not pending:
                    return
                yield self._ray.get(pending[0])
                pending.popleft()
        except (errors.RayError, ConnectionError) as error:
            cause = error.cause if isinstance(error, errors.RayTaskError) else error
            if not isinstance(cause, errors.RayError | ConnectionError):
                raise cause from error  # the work's own
            raise ExecutorFailed(f"executor ray: {one_line(cause)}") from error
        finally:
            for left in pending:
                self._ray.cancel(left, force=False)

    def close(self) -> None:
        if self._ours:
            self._ray.shutdown()


def _do(work: Callable[..., _T], task: Task) -> _T:
    return work(*task)


def _connect(ray: Any, name: str) -> None:
    """Connect to a cluster, or begin one. Raise `InputError` if none answers at the address."""
    named = name if name.startswith("ray://") else os.environ.get("RAY_ADDRESS", "")
    quiet = {"log_to_driver": False, "configure_logging": False}
    try:
        if named not in ("", "auto", "local"):  # Ray itself would wait for minutes, and then say little
            host, _, port = named.removeprefix("ray://").rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
        ray.init(address=named or "auto", **quiet)
    except (OSError, OverflowError, ValueError) as error:
        if named:
            raise InputError("executor", "an address where a Ray cluster answers", named) from error
        store = {"object_store_memory": OWN_STORE_BYTES, "include_dashboard": False}
        ray.init(address="local", num_cpus=cores(), **store, **quiet)
