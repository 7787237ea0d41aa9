"""The findings of the last scan for planted hubs, beside the versions of a collection, for the service to show."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from hubless.errors import storage_errors
from hubless.store.bundle import reading
from hubless.store.durable import replace_text

SCAN = "scan.json"


class _Record(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, use_attribute_docstrings=True)


class KeptFinding(_Record):
    """A target on the list."""

    place: int
    """On the list, from 1."""
    id: int | str
    score: float
    """0 is chance; 1 is first for every query, or for every query of a topic."""
    why: str
    occurrence: int
    """N_10 over the queries of the scan."""
    stability: float | None
    """Share of the queries that keep it with noise on them."""
    copies: int
    """How many near-duplicates are counted with it."""


class KeptScan(_Record):
    """A scan for planted hubs."""

    version: str
    """The version whose targets were scanned."""
    made: str
    """When, ISO 8601."""
    queries: int
    """How many queries it went by."""
    threshold: float | None
    """The score from which a target is an alert."""
    alerts: int
    """How many targets reach the threshold."""
    notes: list[str]
    findings: list[KeptFinding]


def keep_scan(home: Path, scan: KeptScan) -> Path:
    """Write a scan into the folder of its collection, in the place of the last one. Return the file."""
    path = home / SCAN
    with storage_errors(path):
        replace_text(path, scan.model_dump_json(indent=1))
    return path


def kept_scan(home: Path) -> KeptScan | None:
    """Return the scan in the folder of a collection; None if none was kept."""
    path = home / SCAN
    with reading(path):
        return KeptScan.model_validate_json(path.read_bytes()) if path.exists() else None
