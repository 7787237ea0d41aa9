"""The cores that a container lets its processes use: the limit that Docker's `--cpus` and Kubernetes set."""

from math import ceil
from pathlib import Path

_GROUPS = {"": "sys/fs/cgroup", "cpu": "sys/fs/cgroup/cpu"}
"""Folders of the groups of version 2, and of the groups of version 1 that limit processors."""


def core_limit(root: Path = Path("/")) -> int | None:
    """Return the limit of the groups that this process is in, rounded up; None if there is none."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # only Linux has groups
        return None
    limits = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for base in (root / _GROUPS[name] for name in controllers.split(",") if name in _GROUPS):
            group = base / path.lstrip("/")
            # in a container the path is often that on the host, and only its root is there
            limits += [_limit(folder) for folder in (group, *group.parents) if folder.is_relative_to(base)]
    return min((ceil(limit) for limit in limits if limit is not None), default=None)


def _limit(folder: Path) -> float | None:
    """Cores that one group may use; None for any number."""
    try:
        if (file := folder / "cpu.max").exists():
            quota, period = file.read_text().split()
        else:
            quota, period = ((folder / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
        return int(quota) / int(period) if quota not in ("max", "-1") else None
    except (OSError, ValueError):
        return None
