"""Addresses in object storage, such as s3://bucket/prefix."""

import hashlib
import os
import re
from pathlib import Path

SCHEMES = ("s3", "gs", "az")
CACHE_VARIABLE = "HUBLESS_CACHE"
# pathlib makes one slash of two
_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)}):/{{1,2}}([^/].*)", re.DOTALL)


def storage_address(path: str | Path) -> str | None:
    """Return `scheme://bucket/prefix` if a path is an address in object storage, and None if it is one on disk."""
    found = _ADDRESS.fullmatch(str(path))
    return None if found is None else f"{found[1]}://{found[2].rstrip('/')}"


def copy_folder(address: str, purpose: str, home: Path | None = None) -> Path:
    """Return the folder of copies of a catalog, in `home`, `HUBLESS_CACHE` or `~/.cache/hubless`."""
    named = os.environ.get(CACHE_VARIABLE)
    home = home or (Path(named) if named else Path.home() / ".cache" / "hubless")
    return home / f"{purpose}-{hashlib.sha256(address.encode()).hexdigest()[:16]}"
