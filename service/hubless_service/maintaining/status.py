"""The status of the last work on a collection, in a file beside its versions: any worker can read it.

<catalog>/<collection>/.work.json   the status
<catalog>/<collection>/.work.lock   held while the work runs
"""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from hubless.store.durable import is_locked, replaced

_STATUS, LOCK = ".work.json", ".work.lock"

Work = Literal["merge", "bank"]


class Status(BaseModel):
    """The status of some work.

    Attributes
    ----------
    number : of the query bank that it is about; 0 for none
    step, done, total : what it does now, and how many rows of how many
    version : that it made
    problem : why it failed
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    work: Work
    state: Literal["running", "done", "failed"]
    number: int = 0
    step: str | None = None
    done: int = 0
    total: int | None = None
    began: str
    ended: str | None = None
    version: str | None = None
    problem: dict[str, Any] | None = None


def now() -> str:
    """The time as it stands in a status."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def write_status(home: Path, status: Status) -> None:
    """Replace the status. Raises `OSError`."""
    with replaced(home / _STATUS) as path:
        path.write_text(status.model_dump_json(), "utf-8")


def read_status(home: Path) -> Status | None:
    """The status of the last work; None for none that is known. Work whose process is gone has failed."""
    try:
        status = Status.model_validate_json((home / _STATUS).read_bytes())
    except (OSError, ValidationError):
        return None
    if status.state == "running" and not is_running(home):
        # it may have ended between the two looks
        with suppress(OSError, ValidationError):
            status = Status.model_validate_json((home / _STATUS).read_bytes())
        if status.state == "running":
            return ended_by_itself(status)
    return status


def ended_by_itself(status: Status) -> Status:
    """The status of work whose process ended without a word."""
    problem = {"code": "internal_error", "detail": "The process that did it ended before it was finished."}
    return status.model_copy(update={"state": "failed", "ended": now(), "problem": problem})


def is_running(home: Path) -> bool:
    """Return True if some work of the service on the collection runs now, in whichever process."""
    try:
        return is_locked(home / LOCK)
    except OSError:
        return False


def as_json(status: Status) -> dict[str, Any]:
    """A status as clients see it."""
    return status.model_dump(mode="json", exclude={"number"})
