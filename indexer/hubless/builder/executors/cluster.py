"""A Ray cluster: stateless tasks, each of which is done again if its machine is lost.

Ray is an extra. Source: Moritz et al., "Ray: A Distributed Framework for Emerging AI Applications", OSDI 2018.
"""

import os
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from hubless.errors import ExecutorFailed, InputError, how_to_install, one_line
from hubless.kernels.sharding import Task
from hubless.kernels.threads import cores

CLIENT = "ray://"
MOST_LOSSES = 5
"""How often a shard is done again when its process or machine is lost."""
LEAST_PENDING = 16
PENDING_A_CORE = 2
"""Shards that wait for each core of the cluster, so that none is idle and results do not pile up."""
OWN_STORE_BYTES = 512 * 2**20
"""The object store of a cluster that is begun here. It holds banks and potentials, but no vectors of targets."""
ANSWER_SECONDS = 5.0
T = TypeVar("T")


@contextmanager
def on_ray(name: str) -> Iterator["RayCluster"]:
    """The cluster that the name says; see `hubless.builder.executors.executing`."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray  # an extra
    except ImportError as error:
        raise InputError("executor", f"an installed Ray: {how_to_install('ray')}", repr(name)) from error
    ours = not ray.is_initialized()
    if ours:
        _connect(ray, name)
    try:
        yield RayCluster(ray)
    finally:
        if ours:
            ray.shutdown()


class RayCluster:
    """An executor of tasks on a cluster that this process is connected to."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        # an error of the work ends it, but for those of a disk or network that may recover
        self._do = ray.remote(num_cpus=1, max_retries=MOST_LOSSES, retry_exceptions=[OSError])(_do)

    def map(self, work: Callable[..., T], tasks: Iterable[Task]) -> Iterator[T]:
        """See `hubless.kernels.sharding.Executor`.

        Raises
        ------
        ExecutorFailed
            if the cluster is gone, or loses a shard again and again.
        """
        errors = self._ray.exceptions
        coming, pending = iter(tasks), deque[Any]()
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


def _do(work: Callable[..., T], task: Task) -> T:
    return work(*task)


def _connect(ray: Any, name: str) -> None:
    """Connect to a cluster, or begin one.

    Raises
    ------
    InputError
        if none answers at the address.
    """
    named = name if name.startswith(CLIENT) else os.environ.get("RAY_ADDRESS", "")
    if named not in ("", "auto", "local"):
        _check_answers(named)
    quiet = {"log_to_driver": False, "configure_logging": False}
    try:
        ray.init(address=named or "auto", **quiet)
    except ConnectionError as error:
        if named:
            raise InputError("executor", "an address where a Ray cluster answers", named) from error
        store = {"object_store_memory": OWN_STORE_BYTES, "include_dashboard": False}
        ray.init(address="local", num_cpus=cores(), **store, **quiet)


def _check_answers(address: str) -> None:
    """Ray itself would wait for minutes, and then say little."""
    host, _, port = address.removeprefix(CLIENT).rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
    except (OSError, OverflowError, ValueError) as error:
        raise InputError("executor", "an address where a Ray cluster answers", address) from error
