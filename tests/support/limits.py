"""Settings, and other values of the limits that no setting changes."""

from contextlib import contextmanager, nullcontext
from unittest.mock import patch

from hubless_service.settings import Settings


@contextmanager
def settings_with(**given):
    """Give settings, and set limits until the block ends."""
    limits = {name: given.pop(name) for name in list(given) if name not in Settings.model_fields}
    with patch.multiple(Settings, **limits) if limits else nullcontext():
        yield Settings(**given)
