"""Vector search without hubs: measure the hubness of each target offline, rank without it at no cost per query."""

from hubless.aliases import Alias
from hubless.build import build
from hubless.bundle import Manifest
from hubless.catalog import Catalog, VersionInfo
from hubless.corrections import CORRECTIONS
from hubless.errors import HublessError
from hubless.hits import Explanation, Hit, Point, Results
from hubless.search import Collection
from hubless.search import open_collection as open

__all__ = [
    "CORRECTIONS",
    "Alias",
    "Catalog",
    "Collection",
    "Explanation",
    "Hit",
    "HublessError",
    "Manifest",
    "Point",
    "Results",
    "VersionInfo",
    "build",
    "open",
]
