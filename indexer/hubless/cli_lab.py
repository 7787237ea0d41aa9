"""The commands of the lab: parsing and printing only."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer
from rich.table import Table

import hubless
from hubless.cli_options import JsonOption
from hubless.compare import BASELINE, SEEDS, compare
from hubless.corrections import CORRECTIONS
from hubless.entries import KNOWN, parse_entries
from hubless.errors import InputError
from hubless.evaluate import evaluate
from hubless.measures import as_groups
from hubless.printing import parse_value, print_json, print_table
from hubless.records import open_payload
from hubless.results import Comparison
from hubless.storage import check_place
from hubless.tables import as_table, check_output, write
from hubless.tally import RECALLS, Attribute
from hubless.tune import FOLDS, Tuned, tune
from hubless.tune import SEEDS as TUNE_SEEDS

_T = TypeVar("_T")
_SHOWN = 10

QueriesOption = Annotated[Path, typer.Option("--queries", metavar="F", help="Test queries: .npy, .npz or .parquet.")]
RelevantOption = Annotated[
    Path,
    typer.Option("--relevant", metavar="F", help="Row number of the right target of each query: .npy, or .json lists."),
]
BankOption = Annotated[
    Path | None, typer.Option(metavar="F", help="Example queries whose own targets are not among the targets.")
]
TargetBankOption = Annotated[Path | None, typer.Option(metavar="F", help="Extra targets; with --query-bank.")]
MetricOption = Annotated[Literal["cosine", "dot"], typer.Option(help="cosine brings vectors to length 1.")]


def evaluate_command(
    queries: QueriesOption,
    relevant: RelevantOption,
    catalog: Annotated[
        Path | None, typer.Option("--catalog", metavar="DIR", help="Folder that holds the collections.")
    ] = None,
    collection: Annotated[
        str | None, typer.Option("--collection", metavar="NAME", help="Measure a collection, raw and corrected.")
    ] = None,
    version: Annotated[
        str | None, typer.Option("--version", metavar="ID", help="A version, instead of the current.")
    ] = None,
    targets: Annotated[
        Path | None, typer.Option(metavar="F", help="Compare corrections on these targets, without a collection.")
    ] = None,
    query_bank: BankOption = None,
    target_bank: TargetBankOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="No banks: split the targets in half, at random, once a seed.")
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help="How many splits; with --strict.")] = SEEDS,
    metric: MetricOption = "cosine",
    correction: Annotated[
        list[str] | None,
        typer.Option(metavar="|".join(KNOWN), help="To compare; repeatable. By default the foldable methods."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME.KEY=VALUE", help="A parameter of a correction; repeatable."),
    ] = None,
    against: Annotated[str, typer.Option(metavar="NAME", help="The others are tested against this one.")] = BASELINE,
    strength: Annotated[float, typer.Option(help="λ of the corrected ranking.")] = 1.0,
    at: Annotated[
        list[int] | None, typer.Option(min=1, metavar="K", help="Measure R@K; repeatable. By default 1, 5 and 10.")
    ] = None,
    payload: Annotated[
        Path | None, typer.Option(metavar="F", help="Payload of the targets: .parquet, .jsonl or .csv.")
    ] = None,
    attribute: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Whom rankings show: shares of this payload column's groups.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many targets of a query count for --attribute.")] = 10,
    output: Annotated[
        list[Path] | None, typer.Option(metavar="F", help="Write the table: .json, .csv, .md or .tex; repeatable.")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Measure ranking quality and hubness: of a collection, or of several corrections on labelled pairs.

    Example: hubless evaluate --queries captions.npy --targets images.npy --relevant right.npy --strict
    """
    outputs = output or []
    for path in outputs:
        _usage("--output", check_output, path)
        check_place(path)
    recalls = sorted({1, *(at or RECALLS)})
    if collection is not None:
        of_pairs = {"targets": targets, "query-bank": query_bank, "target-bank": target_bank, "strict": strict}
        _refuse("--collection", of_pairs | {"correction": correction, "set": set_, "payload": payload})
        if catalog is None:
            raise typer.BadParameter("a collection is in a catalog", param_hint="--catalog")
        opened = hubless.open(catalog, collection, version=version)
        evaluation = evaluate(
            opened, queries, relevant, strength=strength, recalls=recalls, attribute=attribute, top=top
        )
        _show(evaluation.comparison, evaluation.as_json(), outputs, json_)
        return
    if targets is None:
        raise typer.BadParameter("give it, or --targets to compare corrections", param_hint="--collection")
    _refuse("--targets", {"catalog": catalog, "version": version})
    if strict == (query_bank is not None):
        raise typer.BadParameter("give either it, or --query-bank; it makes banks of the pairs", param_hint="--strict")
    comparison = compare(
        queries,
        targets,
        relevant,
        _usage("--set", parse_entries, correction, _settings(set_ or [])),
        query_bank=query_bank,
        target_bank=target_bank,
        metric=metric,
        seeds=seeds,
        strength=strength,
        recalls=recalls,
        baseline=against,
        attribute=_attribute(payload, attribute, top),
    )
    _show(comparison, comparison.as_json(), outputs, json_)


def tune_command(
    queries: QueriesOption,
    relevant: RelevantOption,
    targets: Annotated[Path, typer.Option(metavar="F", help="What can be found: .npy, .npz or .parquet.")],
    query_bank: BankOption = None,
    target_bank: TargetBankOption = None,
    metric: MetricOption = "cosine",
    correction: Annotated[
        list[str] | None,
        typer.Option(metavar="|".join(CORRECTIONS), help="To try; repeatable. By default the foldable methods."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many splits of the targets.")] = TUNE_SEEDS,
    folds: Annotated[int, typer.Option(min=2, help="How many folds of the queries, each held out once.")] = FOLDS,
    output: Annotated[
        Path | None, typer.Option(metavar="F", help="Write the parameter file, for build --correction-from.")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Choose a correction and its parameters by labelled pairs, and say what it brings on pairs held out.

    Example: hubless tune --queries captions.npy --targets images.npy --relevant right.npy --output tuned.json
    """
    if output is not None:
        check_place(output)
    tuned = tune(
        queries,
        targets,
        relevant,
        corrections=correction,
        query_bank=query_bank,
        target_bank=target_bank,
        metric=metric,
        seeds=seeds,
        folds=folds,
    )
    if output is not None:
        tuned.save(output)
    if json_:
        print_json(tuned.as_json())
        return
    print_table(_tuned_table(tuned))


def _show(comparison: Comparison, as_json: dict[str, Any], outputs: list[Path], json_: bool) -> None:
    for path in outputs:
        write(comparison, path)
    if json_:
        print_json(as_json)
    else:
        print_table(as_table(comparison))


def _usage(option: str, check: Callable[..., _T], *given: Any) -> _T:
    """The value of a check, its `InputError` being a wrong usage of the option."""
    try:
        return check(*given)
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def _refuse(option: str, others: dict[str, Any]) -> None:
    for name, value in others.items():
        if value:
            raise typer.BadParameter(f"does not go with {option}", param_hint=f"--{name}")


def _settings(given: list[str]) -> dict[str, dict[str, Any]]:
    """NAME.KEY=VALUE as {name: {key: value}}."""
    settings: dict[str, dict[str, Any]] = {}
    for setting in given:
        name, dot, rest = setting.partition(".")
        key, equals, value = rest.partition("=")
        if not dot or not equals:
            raise typer.BadParameter(f"expected NAME.KEY=VALUE, got {setting}", param_hint="--set")
        settings.setdefault(name, {})[key] = parse_value(value)
    return settings


def _attribute(payload: Path | None, column: str | None, top: int) -> Attribute | None:
    if column is None:
        _refuse("--targets without --attribute", {"payload": payload})
        return None
    if payload is None:
        raise typer.BadParameter("is a column of --payload, which is not given", param_hint="--attribute")
    opened = open_payload(payload)
    if column not in opened.schema.names:
        known = ", ".join(opened.schema.names)
        raise typer.BadParameter(f"{column!r} is not one of the columns {known}", param_hint="--attribute")
    return Attribute(as_groups(opened.to_table(columns=[column]).column(0).to_pylist(), column), top)


def _tuned_table(tuned: Tuned) -> Table:
    parameters = " ".join(f"{key}={value}" for key, value in tuned.parameters.items())
    gain = tuned.gain
    best = sorted(tuned.candidates, key=lambda candidate: candidate.below_best)
    raw = tuned.candidates[0]
    shown = best[:_SHOWN] + ([] if raw in best[:_SHOWN] else [raw])
    table = Table("candidate", "R@1", "below the best", "± standard error")
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
    table.caption_justify = "left"
    return table
