"""The command `match`. Parsing, printing and writing only."""

from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import typer

from hubless.cli.options import JsonOption, MetricOption
from hubless.cli.printing import print_json, print_table
from hubless.errors import storage_errors
from hubless.progress import bars_or_lines
from hubless.store.durable import check_place, replaced
from hubless_matching.matching import PRECISION, match

_WRITERS = {".csv": pc.write_csv, ".parquet": pq.write_table}


def match_command(
    a: Annotated[Path, typer.Argument(metavar="A", help="Items: .npy, .npz, .parquet or a folder.")],
    b: Annotated[
        Path | None, typer.Argument(metavar="B", help="Other items; without them the duplicates of A.")
    ] = None,
    relevant: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labels: ids of A, each with the id of the right item, or with none: []."),
    ] = None,
    precision: Annotated[float, typer.Option(metavar="SHARE", help="Promise so many right pairs.")] = PRECISION,
    metric: MetricOption = "cosine",
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all pairs: .csv or .parquet.")] = None,
    json_: JsonOption = False,
) -> None:
    """Match two piles of items, or find the duplicates of one.

    Pairs come with the surest first. Labels of about 200 pairs, drawn at random,
    say how many of the first are right with the precision.

    \b
    Example:
      hubless match english.parquet german.parquet --output pairs.csv
      hubless match english.parquet german.parquet --relevant labels.json
    """
    if output is not None:
        if output.suffix not in _WRITERS:
            got = output.suffix or "no ending"
            raise typer.BadParameter(f"a file ending in {', '.join(_WRITERS)}, got {got}", param_hint="--output")
        check_place(output)
    made = match(a, b, relevant, metric=metric, precision=precision, progress=bars_or_lines())
    if output is not None:
        with storage_errors(output), replaced(output) as new:
            _WRITERS[output.suffix](pa.Table.from_pylist(made.records()), new)
    if json_:
        print_json(made.as_json())
    else:
        print_table(made.table().rich())
