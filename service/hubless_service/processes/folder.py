"""The folder that all workers of one server share: each counts there in files of its own, which all can read."""

import os
from pathlib import Path

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with its path, named so that prometheus_client counts in files too."""

_MEMORY = "/dev/shm"  # noqa: S108  # a folder of a random name in it


def shared_folder() -> Path | None:
    """The folder; None in a server of one process."""
    path = os.environ.get(VARIABLE)
    return Path(path) if path else None


def folder_in_memory() -> str | None:
    """Where to make the folder. Its files are mapped: on a full disk, writing to them would kill the process."""
    return _MEMORY if os.access(_MEMORY, os.W_OK) else None


def counts_of(folder: Path, name: str) -> Path:
    """The file in which this process counts something."""
    return folder / f"{name}-{os.getpid()}.counts"


def counts_of_others(folder: Path, name: str) -> list[Path]:
    """The files in which other processes count the same."""
    own = counts_of(folder, name)
    return [path for path in folder.glob(f"{name}-*.counts") if path != own]


def remove_counts_of(folder: Path, pid: int) -> None:
    """Remove the counts of a process that has ended, as they would never decay."""
    for path in folder.glob(f"*-{pid}.counts"):
        path.unlink(missing_ok=True)
