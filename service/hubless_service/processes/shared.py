"""The folder that all workers of one server share: each counts there in files of its own, which all can read."""

import os
from pathlib import Path

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with its path, named so that prometheus_client counts in files too."""
LOADED = "loaded"
"""The file that tells that the first worker answers queries."""

_MEMORY = "/dev/shm"  # noqa: S108  # a folder of a random name in it


def shared_folder() -> Path | None:
    """Return the folder; None in a server of one process."""
    path = os.environ.get(VARIABLE)
    return Path(path) if path else None


def folder_in_memory() -> str | None:
    """Return where to make the folder. Its files are mapped: on a full disk, a write to them would kill the process."""
    return _MEMORY if os.access(_MEMORY, os.W_OK) else None
