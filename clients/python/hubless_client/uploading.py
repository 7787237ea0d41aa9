"""Tables of any size, put in parts. Needs pyarrow: `pip install "hubless-client[arrow]"`."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from hubless_client.call import Call, Content
from hubless_client.client import AsyncClient, Client
from hubless_client.errors import CannotSend
from hubless_client.paths import in_collection
from hubless_client.steps import Program, Step, arun, run
from hubless_client.values import given
from hubless_client.writing import INSERT, Written

ARROW = "application/vnd.apache.arrow.stream"
ROWS = 1000
"""Targets in a request: what a server takes by default."""

_RENAME = {
    "pyarrow": 'table.rename_columns({{"{}": "vector"}})',
    "pandas": 'table.rename(columns={{"{}": "vector"}})',
    "polars": 'table.rename({{"{}": "vector"}})',
}
"""Lines that rename a column, by the package that made the table."""
Progress = bool | Callable[[int], None]


def upload(
    client: Client,
    collection: str,
    table: Any,
    *,
    mode: str | None = None,
    durability: str = "memory",
    rows: int = ROWS,
    progress: Progress = False,
) -> int:
    """Put all targets of a table, in several requests. Each is written as a whole or not at all.

    If it fails, send the same table again: what is there already is replaced.

    Parameters
    ----------
    table : columns `id` and `vector` (a list of numbers a row), all others are payload: an Arrow, polars or pandas
        table, a pyarrow reader, or anything else that is an Arrow stream
    mode : as of `Client.put`
    durability : "memory" lets only the last request wait for the disk, which then has all of them; "disk" each
    rows : targets in a request
    progress : True counts the targets on standard error; or a function that is told how many are stored

    Returns
    -------
    How many targets were sent.

    Raises
    ------
    CannotSend : it is no table, or pyarrow is not installed
    ApiError
    """
    return run(_upload(client._send, collection, table, mode, durability, rows, progress))


async def aupload(
    client: AsyncClient,
    collection: str,
    table: Any,
    *,
    mode: str | None = None,
    durability: str = "memory",
    rows: int = ROWS,
    progress: Progress = False,
) -> int:
    """As `upload`, with an `AsyncClient`."""
    return await arun(_upload(client._send, collection, table, mode, durability, rows, progress))


def _upload(
    send: Callable[[Call[Written]], Any],
    collection: str,
    table: Any,
    mode: str | None,
    durability: str,
    rows: int,
    progress: Progress,
) -> Program[int]:
    """Send the parts of a table one after another, the last one durably; the result is how many targets were sent.

    `send` sends a call: of a client that waits, or of one that is awaited.
    """
    told = _told(progress)
    path, sent = in_collection(collection, "points"), 0
    parts = _parts(table, rows)
    part = next(parts, None)
    while part is not None:
        following = next(parts, None)
        params = given({"mode": mode, "durability": durability if following is not None else "disk"})
        call = Call("PUT", path, Written.from_json, Content(params, _stream(part), ARROW), repeats=mode != INSERT)
        asked = partial(send, call)
        yield Step(asked, asked)
        sent += part.num_rows
        told(sent)
        part = following
    if progress is True:
        print(file=sys.stderr)  # noqa: T201
    return sent


def _told(progress: Progress) -> Callable[[int], None]:
    if callable(progress):
        return progress
    if progress:
        return lambda sent: print(f"\r{sent:,} targets", end="", file=sys.stderr, flush=True)  # noqa: T201
    return lambda sent: None


def _parts(table: Any, rows: int) -> Iterator[Any]:
    """Record batches of at most so many rows."""
    if type(rows) is not int or rows < 1:
        raise CannotSend(f"rows: expected a whole number of at least 1, got {rows!r:.80}")
    try:
        import pyarrow as pa
    except ImportError as error:
        raise CannotSend('table: needs pyarrow: pip install "hubless-client[arrow]"') from error
    if not hasattr(table, "__arrow_c_stream__"):
        raise CannotSend(f"table: expected an Arrow table, or what can be one, got {type(table).__name__}")
    with pa.RecordBatchReader.from_stream(table) as reader:
        _check_named(table, reader.schema)
        for batch in reader:
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


def _check_named(table: Any, schema: Any) -> None:
    """Refuse a table without a column `vector`: its points would be stored, and no query would find them."""
    import pyarrow as pa

    if "vector" in schema.names:
        return
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    meant = [field.name for field in schema if any(is_such(field.type) for is_such in lists)]
    way = _RENAME.get(type(table).__module__.partition(".")[0], _RENAME["pyarrow"]).format(
        meant[0] if meant else "NAME"
    )
    got = f"{'lists in' if meant else 'columns'} {', '.join((meant or schema.names)[:8]) or 'none'}"
    expected = "a column vector (of nulls, if the points have no vectors)"
    raise CannotSend(f"table: expected {expected}, got {got}; rename yours: table = {way}")


def _stream(batch: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())
