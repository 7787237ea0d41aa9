"""The cores and the memory that a container lets its processes use, as Docker and Kubernetes set them; descriptors."""

import resource
from collections.abc import Iterator
from contextlib import suppress
from math import ceil
from pathlib import Path


def most_descriptors() -> int:
    """Return how many descriptors this process may have."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def raise_descriptors() -> None:
    """Let this process, and those that it starts, have as many descriptors as the system allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # macOS allows fewer than it says
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def core_limit(root: Path = Path("/")) -> int | None:
    """Return the limit of the groups that this process is in, rounded up; None if there is none."""
    limits = [_cores(folder) for folder in _folders(root, "cpu")]
    return min((ceil(limit) for limit in limits if limit is not None), default=None)


def memory_limit(root: Path = Path("/")) -> int:
    """Return the bytes that the groups of this process and the machine have; 0 if nobody knows."""
    limits = [_number(folder / name) for folder in _folders(root, "memory") for name in _MEMORY]
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
        limits += [2**10 * int(line.split()[1]) for line in lines if line.startswith("MemTotal:")]
    except (OSError, ValueError):
        pass
    return min((limit for limit in limits if limit), default=0)


_MEMORY = ("memory.max", "memory.limit_in_bytes")


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """Return the folders of the groups that this process is in, of version 2, and of version 1 for a controller."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # only Linux has groups
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for name in {"", controller}.intersection(controllers.split(",")):
            base = root / "sys/fs/cgroup" / name
            group = base / path.lstrip("/")
            # in a container the path is often that on the host, and only its root is there
            yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(base))


def _cores(folder: Path) -> float | None:
    try:
        if (file := folder / "cpu.max").exists():
            quota, period = file.read_text().split()
        else:
            quota, period = ((folder / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
        return int(quota) / int(period) if quota not in ("max", "-1") else None
    except (OSError, ValueError):
        return None


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):  # "max", for one
        return None
