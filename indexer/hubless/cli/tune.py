"""The command `tune`. Parsing and printing only."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from hubless.cli.options import (
    SIMILARITIES,
    JsonOption,
    QueriesOption,
    RelevantOption,
    SetOption,
    TargetsIfAny,
    similarities_from,
)
from hubless.cli.parameters import parameters_of, parse_value, read_settings
from hubless.cli.printing import print_json, print_table, table_of
from hubless.lab.experiments.tune import Tuned, tune
from hubless.store.durable import check_place

_SHOWN = 10
_OPTIONS = ("queries", "targets", "relevant", "grids", "accuracy")


def tune_command(
    relevant: RelevantOption,
    queries: QueriesOption = None,
    targets: TargetsIfAny = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME.KEY=VALUES",
            help="Try these values, as nnn.k=1,2,4; repeatable.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the file for `build --correction`: .json.")
    ] = None,
    accuracy: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Also find the confidence above which this share of answers is right."),
    ] = None,
    set_: SetOption = None,
    json_: JsonOption = False,
) -> None:
    """Choose a correction and its parameters by labelled pairs.

    Tries all, or --set corrections=nnn,csls. Held-out pairs measure what it brings. Keeps none unless the gain is real.

    \b
    Example:
      hubless tune --targets t.npy --queries q.npy --relevant r.npy
    """
    if output is not None:
        check_place(output)
    values = read_settings(set_, {**SIMILARITIES, **parameters_of(tune, skip=_OPTIONS)})
    of_vectors = {f"set {name}": values.get(name) for name in ("metric", "query_bank", "target_bank")}
    matrices = similarities_from(values, {"queries": queries, "targets": targets, **of_vectors})
    given = matrices or queries
    if given is None or (matrices is None and targets is None):
        needed = "give --queries and --targets, or --set similarities=FILE"
        raise typer.BadParameter(needed, param_hint="--targets" if targets is None else "--queries")
    if matrices is None:
        values.setdefault("metric", "cosine")
    tuned = tune(given, targets, relevant, grids=_grids(grid or []), accuracy=accuracy, **values)
    if output is not None:
        tuned.save(output)
    if json_:
        print_json(tuned.as_json())
        return
    print_table(_tuned_table(tuned))


def _grids(given: list[str]) -> dict[str, dict[str, Sequence[Any]]]:
    """Return grids that are written as NAME.KEY=VALUE,VALUE."""
    grids: dict[str, dict[str, Sequence[Any]]] = {}
    for one in given:
        name, dot, rest = one.partition(".")
        key, equals, values = rest.partition("=")
        if dot and key and equals and values:
            grids.setdefault(name, {})[key] = [parse_value(value) for value in values.split(",")]
        else:
            raise typer.BadParameter(f"expected NAME.KEY=VALUE,VALUE, got {one}", param_hint="--grid")
    return grids


def _tuned_table(tuned: Tuned) -> Table:
    parameters = " ".join(f"{key}={value}" for key, value in tuned.parameters.items())
    gain = tuned.gain
    best = sorted(tuned.candidates, key=lambda candidate: candidate.below_best)
    raw = tuned.candidates[0]
    shown = best[:_SHOWN] + ([] if raw in best[:_SHOWN] else [raw])
    table = table_of("candidate", "R@1", "below the best", "± standard error")
    chosen = f"{tuned.correction} {parameters}".strip()
    for candidate in shown:
        figures = (f"{100 * value:.2f}" for value in (candidate.recall_at_1, candidate.below_best, candidate.error))
        table.add_row(candidate.label, *figures, style="bold" if candidate.label == chosen else "")
    table.title = f"Chosen: {chosen}"
    held_out = f"{100 * gain.value:+.1f} [{100 * gain.interval.low:+.1f}, {100 * gain.interval.high:+.1f}]"
    said = [
        tuned.why[0].upper() + tuned.why[1:],
        f"R@1 against raw, on queries held out from the choice: {held_out}",
        f"Tried {tuned.tried} candidates on {tuned.seeds} splits; {tuned.queries:,} queries in {tuned.folds} folds, "
        f"query banks of {tuned.query_bank:,}",
        *tuned.notes,
    ]
    table.caption = ". ".join(said) + "."
    return table
