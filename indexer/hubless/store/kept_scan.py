"""The findings of the last scan for planted hubs, beside the versions of a collection, for the service to show."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from hubless.errors import storage_errors
from hubless.store.bundle import reading
from hubless.store.durable import replace_text

SCAN = "scan.json"


class _Record(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class KeptFinding(_Record):
    """A target on the list."""

    place: int = Field(description="On the list, from 1.")
    id: int | str
    score: float = Field(description="0 is chance; 1 is first for every query, or for every query of a topic.")
    why: str
    occurrence: int = Field(description="N_10 over the queries of the scan.")
    stability: float | None = Field(description="Share of the queries that keep it with noise on them.")
    copies: int = Field(description="How many near-duplicates are counted with it.")


class KeptScan(_Record):
    """A scan for planted hubs."""

    version: str = Field(description="The version whose targets were scanned.")
    made: str = Field(description="When, ISO 8601.")
    queries: int = Field(description="How many queries it went by.")
    threshold: float | None = Field(description="The score from which a target is an alert.")
    alerts: int = Field(description="How many targets reach the threshold.")
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
