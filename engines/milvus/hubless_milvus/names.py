"""Names in Milvus: of fields, of the collection of a version, and of the alias for the current one."""

import hashlib
import re

ROW, VECTOR, ID, OFFSET = "row", "vector", "id", "offset"
OURS = (ROW, VECTOR, ID, OFFSET)
"""Fields of a target beside those of its payload. `row` is its number, from 0 on."""
PREFIX = "hubless"
LONGEST = 255
"""Characters of a name in Milvus."""
_AMBIGUOUS = re.compile(r"-|_[0-9a-f]{8}$|_[0-9]{8}T[0-9]{12}_[0-9a-f]{6}$")
"""Names that are not allowed in Milvus, or that another name could become."""


def collection_name(collection: str, version: str) -> str:
    """The name of the Milvus collection of a version."""
    return f"{alias_name(collection)}_{version.replace('-', '_')}"


def alias_name(collection: str) -> str:
    """The alias in Milvus for the current version of a collection."""
    if not _AMBIGUOUS.search(collection):
        return f"{PREFIX}_{collection}"
    digest = hashlib.sha256(collection.encode()).hexdigest()[:8]
    return f"{PREFIX}_{collection.replace('-', '_')}_{digest}"
