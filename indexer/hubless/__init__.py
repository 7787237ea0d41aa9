"""Vector search without hubs: measure the hubness of each target offline, rank without it at no cost per query."""

from hubless.corrections import CORRECTIONS
from hubless.errors import HublessError

__all__ = ["CORRECTIONS", "HublessError"]
