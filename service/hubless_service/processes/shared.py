"""The folder that all workers of one server share: each counts there in files of its own, which all can read."""

import os
from pathlib import Path

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with its path, named so that prometheus_client counts in files too."""
LOADED = "loaded"
"""The file that tells that the first worker answers queries."""


def shared_folder() -> Path | None:
    """Return the folder; None in a server of one process."""
    path = os.environ.get(VARIABLE)
    return Path(path) if path else None
