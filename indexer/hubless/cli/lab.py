"""Commands of the lab. Parsing and printing only."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.table import Table

from hubless.cli.completion import collections, one_of
from hubless.cli.options import (
    BankOfTargetsOption,
    CatalogIfAny,
    JsonOption,
    MetricOption,
    PayloadIfAny,
    VersionOption,
    listed,
    open_collection,
)
from hubless.cli.printing import parse_value, print_json, print_table, table_of
from hubless.cli.similarities import (
    BankSimilaritiesOption,
    BetweenTargetsOption,
    SimilaritiesOption,
    TargetBankSimilaritiesOption,
    similarities_from,
)
from hubless.corrections import CORRECTIONS
from hubless.errors import InputError
from hubless.lab.compare import BASELINE, SEEDS, compare, compare_strictly
from hubless.lab.comparison import Comparison
from hubless.lab.entries import KNOWN, parse_entries
from hubless.lab.evaluate import evaluate
from hubless.lab.matrices import SimilarityMatrices
from hubless.lab.tables import as_table, check_output, write
from hubless.lab.tally import RECALLS, Attribute
from hubless.lab.tune import FOLDS, Tuned, tune
from hubless.lab.tune import SEEDS as TUNE_SEEDS
from hubless.measures import as_groups
from hubless.store.durable import check_place
from hubless.vectors.payload import open_payload

_T = TypeVar("_T")
_SHOWN = 10

QueriesOption = Annotated[
    Path | None, typer.Option("--queries", metavar="FILE", help="Labelled queries: .npy, .npz or .parquet.")
]
RelevantOption = Annotated[
    Path,
    typer.Option("--relevant", metavar="FILE", help="Row numbers of the right targets: .npy, or .json lists."),
]
BankOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Example queries whose targets are not among the targets.")
]
TargetBankOption = Annotated[Path | None, typer.Option(metavar="FILE", help="Extra targets, with --query-bank.")]
MeasuredOption = Annotated[
    str | None,
    typer.Option(
        "--collection", metavar="NAME", help="Measure this collection, raw and corrected.", autocompletion=collections
    ),
]
ComparedTargetsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Compare corrections on these targets, without a build.")
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Split targets and pairs at random into test and banks.")]
SplitsOption = Annotated[int, typer.Option(min=1, metavar="N", help="Number of splits with --strict.")]
ComparedOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help=f"Compare this one; repeatable. One of {listed(KNOWN)}.", autocompletion=one_of(KNOWN)
    ),
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME.KEY=VALUE", help="A parameter of a correction; repeatable.")
]
AgainstOption = Annotated[
    str,
    typer.Option(metavar="NAME", help="Test the others against this correction.", autocompletion=one_of(KNOWN)),
]
StrengthOption = Annotated[float, typer.Option(metavar="X", help="Strength of the corrected ranking.")]
RecallOption = Annotated[
    list[int] | None, typer.Option(min=1, metavar="K", help="Measure R@K; repeatable. Default 1, 5 and 10.")
]
AttributeOption = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Count whom rankings show, by this payload column.")
]
TopOption = Annotated[int, typer.Option(min=1, metavar="N", help="First targets that count for --attribute.")]
OutputOption = Annotated[
    list[Path] | None, typer.Option(metavar="FILE", help="Write the table: .json, .csv, .md or .tex; repeatable.")
]


def evaluate_command(
    relevant: RelevantOption,
    queries: QueriesOption = None,
    catalog: CatalogIfAny = None,
    collection: MeasuredOption = None,
    version: VersionOption = None,
    targets: ComparedTargetsOption = None,
    query_bank: BankOption = None,
    target_bank: TargetBankOption = None,
    similarities: SimilaritiesOption = None,
    bank_similarities: BankSimilaritiesOption = None,
    target_bank_similarities: TargetBankSimilaritiesOption = None,
    between_targets: BetweenTargetsOption = None,
    strict: StrictOption = False,
    seeds: SplitsOption = SEEDS,
    metric: MetricOption = "cosine",
    correction: ComparedOption = None,
    set_: SetOption = None,
    against: AgainstOption = BASELINE,
    strength: StrengthOption = 1.0,
    at: RecallOption = None,
    payload: PayloadIfAny = None,
    attribute: AttributeOption = None,
    top: TopOption = 10,
    output: OutputOption = None,
    bank_of_targets: BankOfTargetsOption = False,
    json_: JsonOption = False,
) -> None:
    """Measure ranking quality and hubness on labelled queries.

    Give --catalog and --collection to measure a collection; with --strict, its
    correction on splits of its targets. Or give --targets, and --query-bank or
    --strict, to compare corrections without a build. Of a model without vectors
    give --similarities, and --bank-similarities or --strict.

    \b
    Example:
      hubless evaluate --targets images.npy --queries captions.npy \\
          --relevant right.npy --strict
    """
    outputs = output or []
    for path in outputs:
        _usage("--output", check_output, path)
        check_place(path)
    recalls = sorted({1, *(at or RECALLS)})
    vectors = {"queries": queries, "targets": targets, "query-bank": query_bank, "target-bank": target_bank}
    matrices = similarities_from(
        similarities,
        bank_similarities,
        target_bank_similarities,
        between_targets,
        {"collection": collection, "metric": metric != "cosine"} | vectors,
    )
    if queries is None and matrices is None:
        raise typer.BadParameter("give --queries, or --similarities", param_hint="--queries")
    if collection is not None and queries is not None:
        of_pairs = {name: value for name, value in vectors.items() if name != "queries"}
        _refuse("--collection", of_pairs | {"correction": correction, "set": set_, "payload": payload})
        opened = open_collection(catalog, collection, version)
        if strict:
            _refuse("--collection with --strict", {"attribute": attribute})
            comparison = compare_strictly(
                opened, queries, relevant, seeds=seeds, strength=strength, recalls=recalls, baseline=against
            )
            _show(comparison, comparison.as_json(), outputs, json_)
            return
        evaluation = evaluate(
            opened, queries, relevant, strength=strength, recalls=recalls, attribute=attribute, top=top
        )
        _show(evaluation.comparison, evaluation.as_json(), outputs, json_)
        return
    if targets is None and matrices is None:
        raise typer.BadParameter("give --collection, or --targets to compare corrections", param_hint="--collection")
    _refuse("--targets" if matrices is None else "--similarities", {"catalog": catalog, "version": version})
    bank, option = (query_bank, "--query-bank") if matrices is None else (bank_similarities, "--bank-similarities")
    if strict == (bank is not None):
        raise typer.BadParameter(f"give either --strict or {option}", param_hint="--strict")
    comparison = compare(
        _given(queries, matrices),
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
        bank_of_targets=bank_of_targets,
    )
    _show(comparison, comparison.as_json(), outputs, json_)


def tune_command(
    relevant: RelevantOption,
    queries: QueriesOption = None,
    targets: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What can be found: .npy, .npz, .parquet or a folder.")
    ] = None,
    query_bank: BankOption = None,
    target_bank: TargetBankOption = None,
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
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Number of splits of the targets.")] = TUNE_SEEDS,
    folds: Annotated[int, typer.Option(min=2, metavar="N", help="Folds of the queries, each held out once.")] = FOLDS,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the file for `build --correction-from`.")
    ] = None,
    bank_of_targets: BankOfTargetsOption = False,
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
        {"metric": metric != "cosine"} | vectors,
    )
    if matrices is None and (queries is None or targets is None):
        option = "--targets" if targets is None else "--queries"
        raise typer.BadParameter("give --queries and --targets, or --similarities", param_hint=option)
    tuned = tune(
        _given(queries, matrices),
        targets,
        relevant,
        corrections=correction,
        query_bank=query_bank,
        target_bank=target_bank,
        metric=metric,
        seeds=seeds,
        folds=folds,
        bank_of_targets=bank_of_targets,
    )
    if output is not None:
        tuned.save(output)
    if json_:
        print_json(tuned.as_json())
        return
    print_table(_tuned_table(tuned))


def _given(queries: Path | None, matrices: SimilarityMatrices | None) -> Path | SimilarityMatrices:
    """Similarities if there are any, else the queries, which are there then."""
    if matrices is not None:
        return matrices
    if queries is None:
        raise typer.BadParameter("give --queries, or --similarities", param_hint="--queries")
    return queries


def _show(comparison: Comparison, as_json: dict[str, Any], outputs: list[Path], json_: bool) -> None:
    for path in outputs:
        write(comparison, path)
    if json_:
        print_json(as_json)
    else:
        for leak in comparison.leaks:
            typer.echo(f"Warning: {leak}.")
        print_table(as_table(comparison))


def _usage(option: str, check: Callable[..., _T], *given: Any) -> _T:
    """Return what a check returns. Its `InputError` becomes a usage error of the option."""
    try:
        return check(*given)
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def _refuse(option: str, others: dict[str, Any]) -> None:
    for name, value in others.items():
        if value:
            raise typer.BadParameter(f"cannot be combined with {option}", param_hint=f"--{name}")


def _settings(given: list[str]) -> dict[str, dict[str, Any]]:
    """Return settings that are written as NAME.KEY=VALUE, by name and key."""
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
        _refuse("--targets unless there is an --attribute", {"payload": payload})
        return None
    if payload is None:
        raise typer.BadParameter("needs --payload, which has the column", param_hint="--attribute")
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
