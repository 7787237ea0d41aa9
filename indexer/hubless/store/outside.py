"""Notes of what versions keep outside the catalog, in an engine: what goes here is to go there.

    versions/.outside-<version>    what the version keeps, in a line; written before it is made there

A version whose build died, and one that was deleted, leave their notes. Whoever can reach the place clears it away.
"""

from pathlib import Path

from hubless.store.durable import replace_text
from hubless.store.locks import unfinished

_NOTE = ".outside-"


def note(versions: Path, version: str, kept: str) -> None:
    """Note what a version is about to keep outside."""
    replace_text(versions / (_NOTE + version), kept)


def forget(versions: Path, version: str) -> None:
    """Drop the note of a version: nothing of it is left outside, or somebody else looks after it."""
    (versions / (_NOTE + version)).unlink(missing_ok=True)


def noted(versions: Path) -> dict[str, str]:
    """Return the things that each version keeps outside, by its id."""
    return {path.name.removeprefix(_NOTE): path.read_text("utf-8").strip() for path in versions.glob(f"{_NOTE}*")}


def orphaned(versions: Path) -> dict[str, str]:
    """Return the things kept outside for versions that are not there, nor being built."""
    living = unfinished(versions)
    return {
        version: kept
        for version, kept in noted(versions).items()
        if version not in living and not (versions / version).is_dir()
    }
