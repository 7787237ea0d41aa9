"""Passes over all targets on a Ray cluster.

Source: Moritz et al., "Ray: A Distributed Framework for Emerging AI Applications", OSDI 2018.
"""

import os
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import ray
from ray import exceptions as errors

from hubless.errors import ExecutorFailed, InputError, one_line
from hubless.kernels.sharding import Task
from hubless.kernels.threads import cores

MOST_LOSSES = 3
"""Shards are done again when a machine is lost, but not for ever: one of them may be what kills it."""
PENDING_A_CORE = 2
"""Shards that wait for each core, so that none is idle and results do not pile up."""
LEAST_PENDING = 16
OWN_STORE_BYTES = 512 * 2**20
"""The object store of a Ray cluster that is begun here. It holds banks and potentials, but no vectors of targets."""
ANSWER_SECONDS = 5.0
_T = TypeVar("_T")


class RayExecutor:
    """Stateless tasks on a Ray cluster: the one that this process is connected to, or that the name says."""

    def __init__(self, name: str) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self._ours = not ray.is_initialized()
        if self._ours:
            _connect(name)
        # an error of the work ends it, but for those of a disk or network that may recover
        self._do = ray.remote(num_cpus=1, max_retries=MOST_LOSSES, retry_exceptions=[OSError])(_do)

    def map(self, work: Callable[..., _T], tasks: Iterable[Task]) -> Iterator[_T]:
        """Yield what `work` returns for each task, in their order. A few a core of the cluster are pending.

        Raises what the work raised, and `ExecutorFailed` if the cluster fails.
        """
        coming = iter(tasks)
        pending = deque[Any]()
        try:
            shared = ray.put(work)
            while True:
                most = max(LEAST_PENDING, PENDING_A_CORE * int(ray.cluster_resources().get("CPU", 0)))
                while len(pending) < most and (task := next(coming, None)) is not None:
                    pending.append(self._do.remote(shared, task))
                if not pending:
                    return
                yield ray.get(pending[0])
                pending.popleft()
        except (errors.RayError, ConnectionError) as error:
            cause = error.cause if isinstance(error, errors.RayTaskError) else error
            if not isinstance(cause, errors.RayError | ConnectionError):
                raise cause from error  # the work's own
            raise ExecutorFailed(f"executor ray: {one_line(cause)}") from error
        finally:
            for left in pending:
                ray.cancel(left, force=False)

    def close(self) -> None:
        if self._ours:
            ray.shutdown()


def _do(work: Callable[..., _T], task: Task) -> _T:
    return work(*task)


def _connect(name: str) -> None:
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
