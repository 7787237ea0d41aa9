"""What an export has to know of a database."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from hubless.exporting.kinds import Kind
from hubless.exporting.names import ANY, Names
from hubless.exporting.rows import keep_none


@dataclass(frozen=True)
class Engine:
    """A database, and the script that loads it and asks it.

    Attributes
    ----------
    title : its name
    packages : that the script needs, as pip knows them
    script : Python; defines `connect()`, `load(client, replace)` and `query(client, vector, limit, strength)`. What
        they use is written in front of it: see `hubless.exporting.recipe`
    tested : what the tests run the script against; empty if they have none
    most_width : numbers of a vector, at most
    collection, columns : names that it allows
    types : its type of each kind of payload, where the script has to name them
    keeps : whether it takes an Arrow type as it is; other columns become a `Kind`
    most_id_bytes, most_text_bytes : of an id and of a text of the payload, in UTF-8; None for any
    """

    title: str
    packages: tuple[str, ...]
    script: str
    tested: str
    most_width: int
    collection: Names
    columns: Names = ANY
    types: Mapping[Kind, Any] | None = None
    keeps: Callable[[pa.DataType], bool] = keep_none
    most_id_bytes: int | None = None
    most_text_bytes: int | None = None
