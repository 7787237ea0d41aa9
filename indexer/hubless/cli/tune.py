"""The command `tune`. Parsing and printing only."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from hubless.cli.completion import one_of
from hubless.cli.labelled import BankOption, PriorOption, QueriesOption, RelevantOption, TargetBankOption, queries_or
from hubless.cli.options import BankOfTargetsOption, JsonOption, LiveQueriesOption, MetricOption, listed
from hubless.cli.printing import parse_value, print_json, print_table, table_of
from hubless.cli.similarities import (
    BankSimilaritiesOption,
    BetweenTargetsOption,
    SimilaritiesOption,
    TargetBankSimilaritiesOption,
    similarities_from,
)
from hubless.corrections import CORRECTIONS
from hubless.lab.experiments.grids import PRESETS
from hubless.lab.experiments.tune import FOLDS, SEEDS, Tuned, tune
from hubless.store.durable import check_place

_SHOWN = 10


def tune_command(
    relevant: RelevantOption,
    queries: QueriesOption = None,
    targets: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What can be found: .npy, .npz, .parquet or a folder.")
    ] = None,
    query_bank: BankOption = None,
    target_bank: TargetBankOption = None,
    target_prior: PriorOption = None,
    similarities: SimilaritiesOption = None,
    bank_similarities: BankSimilaritiesOption = None,
    target_bank_similarities: TargetBankSimilaritiesOption = None,
    between_targets: BetweenTargetsOption = None,
    metric: MetricOption = "cosine",
    correction: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Try this one; repeatable. One of {listed(CORRECTIONS)}.",
            autocompletion=one_of(CORRECTIONS),
        ),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME.KEY=VALUES",
            help="Try these values, as nnn.k=1,2,4, or a large grid, as nnn; repeatable.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Number of splits of the targets.")] = SEEDS,
    folds: Annotated[int, typer.Option(min=2, metavar="N", help="Folds of the queries, each held out once.")] = FOLDS,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the file for `build --correction-from`.")
    ] = None,
    bank_of_targets: BankOfTargetsOption = False,
    live_queries: LiveQueriesOption = None,
    json_: JsonOption = False,
) -> None:
    """Choose a correction and its parameters by labelled pairs.

    Held-out pairs measure what it brings. Keeps none unless the gain is real.

    \b
    Example:
      hubless tune --targets images.npy --queries captions.npy \\
          --relevant right.npy --output tuned.json
    """
    if output is not None:
        check_place(output)
    vectors = {"queries": queries, "targets": targets, "query-bank": query_bank, "target-bank": target_bank}
    matrices = similarities_from(
        similarities,
        bank_similarities,
        target_bank_similarities,
        between_targets,
        {"metric": metric != "cosine", "live-queries": live_queries} | vectors,
    )
    if matrices is None and (queries is None or targets is None):
        option = "--targets" if targets is None else "--queries"
        raise typer.BadParameter("give --queries and --targets, or --similarities", param_hint=option)
    tuned = tune(
        queries_or(queries, matrices),
        targets,
        relevant,
        corrections=correction,
        grids=_grids(grid or []),
        query_bank=query_bank,
        target_bank=target_bank,
        metric=metric,
        seeds=seeds,
        folds=folds,
        bank_of_targets=bank_of_targets,
        target_prior=target_prior,
        live_queries=live_queries,
    )
    if output is not None:
        tuned.save(output)
    if json_:
        print_json(tuned.as_json())
        return
    print_table(_tuned_table(tuned))


def _grids(given: list[str]) -> dict[str, dict[str, Sequence[Any]]]:
    """Return grids that are written as NAME.KEY=VALUE,VALUE, or as the name of a preset."""
    grids: dict[str, dict[str, Sequence[Any]]] = {}
    for one in given:
        name, dot, rest = one.partition(".")
        key, equals, values = rest.partition("=")
        if one in PRESETS:
            grids.setdefault(one, {}).update(PRESETS[one])
        elif dot and key and equals and values:
            grids.setdefault(name, {})[key] = [parse_value(value) for value in values.split(",")]
        else:
            expected = f"NAME.KEY=VALUE,VALUE or one of {', '.join(PRESETS)}"
            raise typer.BadParameter(f"expected {expected}, got {one}", param_hint="--grid")
    return grids


def _tuned_table(tuned: Tuned) -> Table:
    parameters = " ".join(f"{key}={value}" for key, value in tuned.parameters.items())
    gain = tuned.gain
    best = sorted(tuned.candidates, key=lambda candidate: candidate.below_best)
    raw = tuned.candidates[0]
    shown = best[:_SHOWN] + ([] if raw in best[:_SHOWN] else [raw])
    table = table_of("candidate", "R@1", "below the best", "± standard error", texts=["candidate"])
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
