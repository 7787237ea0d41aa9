"""What `--set` of each command takes."""

from functools import cache

from support.printed import commands
from support.size import settable

from hubless.corrections import CORRECTIONS
from hubless.knn import INDEXES

FOUND = commands()
PARAMETERS = {name for each in CORRECTIONS.values() for name in each.__dataclass_fields__}
OF_SEARCH = {"exact", "candidates"} | {name for kind in INDEXES.values() for name in kind.known}
"""What `query` passes on to the index of the collection, which knows it or refuses it."""


@cache
def known(command):
    return settable(command, FOUND[command]) | PARAMETERS | (OF_SEARCH if command == "query" else set())
