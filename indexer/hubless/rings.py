"""What packages of other rings bring, each by an entry point."""

from importlib.metadata import entry_points
from typing import Any

from hubless.errors import not_installed


def brought(group: str, name: str, shown: str, ring: str) -> Any:
    """Load what a package brings under a name of the entry points `hubless.GROUP`.

    Raises `HublessError` if there is none: what is `shown` to the user is of this ring, which is not installed.
    """
    for entry in entry_points(group=f"hubless.{group}", name=name):
        return entry.load()
    raise not_installed(shown, ring)
