"""The command `evaluate`. Parsing and printing only."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hubless.cli.completion import collections, one_of
from hubless.cli.labelled import (
    BankOption,
    PriorOption,
    QueriesOption,
    RelevantOption,
    TargetBankOption,
    named_with_settings,
    queries_or,
    refuse,
    settings_by_name,
    usage,
)
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
from hubless.cli.printing import print_json, print_table
from hubless.cli.similarities import (
    BankSimilaritiesOption,
    BetweenTargetsOption,
    SimilaritiesOption,
    TargetBankSimilaritiesOption,
    similarities_from,
)
from hubless.corrections.query_time import CANDIDATES
from hubless.lab.experiments.columns import MEASURES, columns
from hubless.lab.experiments.compare import BASELINE, SEEDS, compare, compare_strictly
from hubless.lab.experiments.comparison import Comparison
from hubless.lab.experiments.evaluate import evaluate
from hubless.lab.experiments.methods import KNOWN, parse_methods
from hubless.lab.experiments.relevance import read_groups
from hubless.lab.experiments.tables import as_csv, as_latex, as_markdown, as_table, check_output, write
from hubless.lab.experiments.tally import DEPTHS, RECALLS, Attribute
from hubless.measures import as_groups
from hubless.search.collection import FULL_STRENGTH
from hubless.store.durable import check_place
from hubless.vectors.payload import open_payload

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
        metavar="NAME",
        help=f"Compare this one, as NAME or NAME:KEY=VALUE,…; repeatable. One of {listed(KNOWN)}.",
        autocompletion=one_of(KNOWN),
    ),
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME.KEY=VALUE", help="A parameter of a correction; repeatable.")
]
AgainstOption = Annotated[
    str,
    typer.Option(metavar="NAME", help="Test the others against this correction.", autocompletion=one_of(KNOWN)),
]
StrengthOption = Annotated[
    float | None,
    typer.Option(metavar="X", help="Strength of the corrected ranking; by default a collection's, else 1."),
]
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
FormatOption = Annotated[
    Literal["text", "csv", "json", "md", "latex"],
    typer.Option("--format", metavar="text|csv|json|md|latex", help="Print the table in this format."),
]
DepthOption = Annotated[
    list[int] | None, typer.Option(min=1, metavar="K", help="Measure hubness by N_K; repeatable. Default 10.")
]
MeasureOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help=f"Show this measure; repeatable. {listed(MEASURES)}.", autocompletion=one_of(MEASURES)
    ),
]
CandidatesOption = Annotated[
    int, typer.Option(min=0, metavar="N", help="Targets that a rescored correction looks at; 0 for all.")
]
BankSizeOption = Annotated[int | None, typer.Option(min=1, metavar="N", help="Draw so many bank queries at random.")]
DrawsOption = Annotated[int, typer.Option(min=1, metavar="N", help="Repeat with so many draws of --bank-size.")]
LeaveSelfOutOption = Annotated[
    bool, typer.Option("--leave-self-out", help="Query i is target i: it is no answer to itself.")
]
DistancesOption = Annotated[
    bool, typer.Option("--distances", help="Measure how far bank, targets and queries lie from each other.")
]
GroupsOption = Annotated[
    Path | None,
    typer.Option("--groups", metavar="FILE", help="As --attribute; the group of each target: .npy, .json or .txt."),
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
    target_prior: PriorOption = None,
    similarities: SimilaritiesOption = None,
    bank_similarities: BankSimilaritiesOption = None,
    target_bank_similarities: TargetBankSimilaritiesOption = None,
    between_targets: BetweenTargetsOption = None,
    strict: StrictOption = False,
    seeds: SplitsOption = SEEDS,
    bank_size: BankSizeOption = None,
    draws: DrawsOption = 1,
    leave_self_out: LeaveSelfOutOption = False,
    metric: MetricOption = "cosine",
    correction: ComparedOption = None,
    set_: SetOption = None,
    against: AgainstOption = BASELINE,
    strength: StrengthOption = None,
    candidates: CandidatesOption = CANDIDATES,
    at: RecallOption = None,
    depth: DepthOption = None,
    measure: MeasureOption = None,
    distances: DistancesOption = False,
    payload: PayloadIfAny = None,
    attribute: AttributeOption = None,
    groups: GroupsOption = None,
    top: TopOption = 10,
    format_: FormatOption = "text",
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
    if json_ and format_ not in ("text", "json"):
        raise typer.BadParameter("cannot be combined with --json", param_hint="--format")
    shown = Shown("json" if json_ else format_, output or [], measure)
    for path in shown.outputs:
        usage("--output", check_output, path)
        check_place(path)
    recalls, depths = sorted({1, *(at or RECALLS)}), list(dict.fromkeys(depth or DEPTHS))
    vectors = {"queries": queries, "targets": targets, "query-bank": query_bank, "target-bank": target_bank}
    matrices = similarities_from(
        similarities,
        bank_similarities,
        target_bank_similarities,
        between_targets,
        {"collection": collection, "metric": metric != "cosine"} | vectors,
    )
    measured: dict[str, Any] = {"strength": strength, "recalls": recalls, "depths": depths}
    drawn: dict[str, Any] = {"bank_size": bank_size, "draws": draws, "leave_self_out": leave_self_out}
    compared = (
        measured
        | drawn
        | {
            "strength": FULL_STRENGTH if strength is None else strength,
            "seeds": seeds,
            "baseline": against,
            "distances": distances,
        }
    )
    compared["candidates"] = candidates or None
    given = queries_or(queries, matrices)
    if collection is not None and queries is not None:
        of_pairs = {name: value for name, value in vectors.items() if name != "queries"}
        refuse(
            "--collection",
            of_pairs
            | {
                "correction": correction,
                "set": set_,
                "payload": payload,
                "groups": groups,
                "target-prior": target_prior,
            },
        )
        opened = open_collection(catalog, collection, version)
        if strict:
            refuse("--collection with --strict", {"attribute": attribute})
            comparison = compare_strictly(opened, queries, relevant, **compared)
            shown.show(comparison, comparison.as_json())
            return
        of_trials = {"bank-size": bank_size, "leave-self-out": leave_self_out, "distances": distances}
        refuse("--collection without --strict", of_trials)
        evaluation = evaluate(opened, queries, relevant, attribute=attribute, top=top, **measured)
        shown.show(evaluation.comparison, evaluation.as_json())
        return
    if targets is None and matrices is None:
        raise typer.BadParameter("give --collection, or --targets to compare corrections", param_hint="--collection")
    refuse("--targets" if matrices is None else "--similarities", {"catalog": catalog, "version": version})
    bank, option = (query_bank, "--query-bank") if matrices is None else (bank_similarities, "--bank-similarities")
    if strict == (bank is not None):
        raise typer.BadParameter(f"give either --strict or {option}", param_hint="--strict")
    named = None if correction is None else [named_with_settings(one) for one in correction]
    comparison = compare(
        given,
        targets,
        relevant,
        usage("--correction" if not set_ else "--set", parse_methods, named, settings_by_name(set_ or [])),
        query_bank=query_bank,
        target_bank=target_bank,
        metric=metric,
        attribute=_attribute(payload, attribute, groups, top),
        bank_of_targets=bank_of_targets,
        target_prior=target_prior,
        **compared,
    )
    shown.show(comparison, comparison.as_json())


@dataclass(frozen=True)
class Shown:
    """How a comparison is printed, and where it is written."""

    format: str
    outputs: list[Path]
    measures: list[str] | None

    def show(self, comparison: Comparison, as_json: dict[str, Any]) -> None:
        """Write the files, and print."""
        if self.measures is not None:
            usage("--measure", columns, comparison, self.measures)
        for path in self.outputs:
            write(comparison, path, self.measures)
        if self.format == "json":
            print_json(as_json)
            return
        for leak in comparison.leaks:
            typer.echo(f"Warning: {leak}.", err=self.format != "text")
        if self.format == "text":
            print_table(as_table(comparison, self.measures))
        else:
            typer.echo(_AS_TEXT[self.format](comparison, self.measures), nl=False)


_AS_TEXT = {"csv": as_csv, "md": as_markdown, "latex": as_latex}


def _attribute(payload: Path | None, column: str | None, groups: Path | None, top: int) -> Attribute | None:
    if groups is not None:
        refuse("--groups", {"attribute": column, "payload": payload})
        return Attribute(as_groups(read_groups(groups), groups.name), top)
    if column is None:
        refuse("--targets unless there is an --attribute", {"payload": payload})
        return None
    if payload is None:
        raise typer.BadParameter("needs --payload, which has the column", param_hint="--attribute")
    opened = open_payload(payload)
    if column not in opened.schema.names:
        known = ", ".join(opened.schema.names)
        raise typer.BadParameter(f"{column!r} is not one of the columns {known}", param_hint="--attribute")
    return Attribute(as_groups(opened.to_table(columns=[column]).column(0).to_pylist(), column), top)
