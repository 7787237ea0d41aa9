"""The commands `evaluate` and `tune`. Parsing and printing only."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from hubless.builder.written_corrections import parse_value, short_correction
from hubless.cli.options import (
    CatalogIfAny,
    CollectionIfAny,
    JsonOption,
    SetOption,
    TargetsIfAny,
    chosen_collection,
    parameters_of,
    read_settings,
    refuse,
)
from hubless.cli.printing import empty_table, print_item, print_json, print_table
from hubless.diagnosing.table import TextTable
from hubless.errors import InputError
from hubless.progress import bars_or_lines
from hubless.store.durable import check_place
from hubless_lab.experiments.abstain import Abstention, abstain as measure_abstention, abstain_collection
from hubless_lab.experiments.compare import compare, compare_strictly
from hubless_lab.experiments.comparisons import Comparison, columns, comparison_table
from hubless_lab.experiments.evaluate import evaluate
from hubless_lab.experiments.methods import Method, as_methods, known_names
from hubless_lab.experiments.several_banks import compare_banks
from hubless_lab.experiments.tally import Attribute
from hubless_lab.experiments.tune import Tuned, tune
from hubless_lab.matrices import SimilarityMatrices
from hubless_lab.measures.groups import read_groups
from hubless_lab.papers import Preset, preset, presets_of
from hubless_lab.result_files import check_output, write_result

QueriesOption = Annotated[
    Path | None, typer.Option("--queries", metavar="FILE", help="Labelled queries: .npy, .npz or .parquet.")
]
_RELEVANT = typer.Option(
    "--relevant", metavar="FILE", help="Ids of the right targets, a row a query; row numbers if targets have no ids."
)
RelevantOption = Annotated[Path, _RELEVANT]
RelevantIfAny = Annotated[Path | None, _RELEVANT]
_SIMILARITIES: dict[str, Any] = dict.fromkeys(("similarities", "bank_similarities", "target_bank_similarities"), Path)
"""Values of `--set` in place of vectors, for models that give scores only."""
_OWN: dict[str, Any] = {"output": Sequence[Path], "abstain": bool}
_MEASURES: dict[str, Any] = {"measures": Sequence[str]}
_BANKS: dict[str, Any] = {"bank_size": Sequence[int | str], "least_coverage": bool}
_GROUPS: dict[str, Any] = {"groups": Path, "attribute": str, "top": int}
_OF_COMPARE = ("corrections", "attribute")
_OF_STRICT = ("metric", "target_bank", "bank_of_targets", "target_prior")


def evaluate_command(
    *,
    relevant: RelevantIfAny = None,
    queries: QueriesOption = None,
    catalog: CatalogIfAny = None,
    collection: CollectionIfAny = None,
    targets: TargetsIfAny = None,
    query_bank: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Example queries, none of whose right targets is a target; repeatable."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Split targets and pairs at random into test and banks.")
    ] = False,
    correction: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Compare NAME, NAME:KEY=VALUE,… or offsets:FILE; repeatable. Names: {', '.join(known_names())}.",
        ),
    ] = None,
    paper: Annotated[
        str | None, typer.Option(metavar="NAME", help="Take corrections and settings of a paper; list shows all.")
    ] = None,
    table: Annotated[str | None, typer.Option(metavar="NUMBER", help="Its table, such as 4 or A7.")] = None,
    set_: SetOption = None,
    json_: JsonOption = False,
) -> None:
    """Measure ranking quality and hubness on labelled queries.

    Give --catalog and --collection to measure a collection, with --strict its
    correction on splits of its targets. Or give --targets, and either query banks
    or --strict, to compare corrections without a build. Of a model without
    vectors give --set similarities=FILE. --set output=FILE writes the table: .json,
    .csv, .md, .tex or .svg. --set abstain=true measures confidence.

    \b
    Example:
      hubless evaluate --targets t.npy --queries q.npy --relevant r.npy --strict
      hubless evaluate --paper dbsn --table 4 --targets t.npy --queries q.npy …
    """
    if paper is not None and table is None:
        _print_tables(paper)
        return
    asked = _Asked(relevant, queries, catalog, collection, targets, query_bank or [], strict, correction or [])
    if table is not None:
        asked, set_ = asked.as_in(usage("--table" if paper else "--paper", preset, paper or "", table), set_)
    if relevant is None:
        raise typer.BadParameter("give the right targets", param_hint="--relevant")
    own, rest = _own_settings(set_)
    output = own.get("output", [])
    for path in output:
        usage("--set", check_output, path)
        check_place(path)
    if collection is not None:
        refuse("--collection", {"targets": targets, "query-bank": asked.banks, "correction": asked.corrections})
    else:
        refuse("--targets", {"catalog": catalog})
    if own.get("abstain"):
        made = _abstention(asked, rest)
        _show(made, made.table(), output, json_)
        return
    comparison, measures = _of_files(asked, rest) if collection is None else _of_collection(asked, rest)
    first, *_ = usage("--set", columns, comparison, measures)
    if not json_:
        for leak in comparison.leaks:
            typer.echo(f"Warning: {leak}.")
    _show(comparison, comparison_table(comparison, measures), output, json_, first)


def _print_tables(paper: str) -> None:
    for one in usage("--paper", presets_of, None if paper == "list" else paper):
        print_item(f"{one.paper} {', '.join(one.tables)}: {one.shows}")


@dataclass(frozen=True)
class _Asked:
    """Options of `evaluate`. `optional` corrections, those of a paper, are passed over where they do not apply."""

    relevant: Any
    queries: Path | None
    catalog: Path | None
    collection: str | None
    targets: Path | None
    banks: list[Path]
    strict: bool
    corrections: list[str]
    optional: bool = False

    def as_in(self, chosen: Preset, set_: list[str] | None) -> "tuple[_Asked, list[str]]":
        """Return these options, and those of `--set`, with what a table of a paper has for those that are not given."""
        banks = self.banks
        if chosen.test_queries and self.queries is not None:
            banks = banks or [self.queries]
        corrections = self.corrections or list(chosen.corrections)
        made = replace(self, banks=banks, corrections=corrections, optional=not self.corrections)
        return made, ["keep_copies=true", *chosen.settings, *(set_ or [])]

    def needed_queries(self) -> Path:
        """Return the queries; a usage error if there are none."""
        if self.queries is None:
            raise typer.BadParameter("give labelled queries", param_hint="--queries")
        return self.queries

    def methods(self) -> list[Method]:
        """Return the corrections that are compared."""
        methods: list[Method] = usage("--correction", entries_from, self.corrections)
        return [replace(method, optional=True) for method in methods] if self.optional else methods


def _of_collection(asked: _Asked, set_: list[str]) -> tuple[Comparison, list[str] | None]:
    """Measure a collection. Return the comparison, and the measures that are shown; None for all."""
    options = parameters_of(evaluate_command)
    of_splits = parameters_of(compare, skip=(*options, *_OF_COMPARE, *_OF_STRICT))
    known = of_splits if asked.strict else parameters_of(evaluate, skip=options)
    values = read_settings(set_, {**_OWN, "version": str, **_MEASURES, **known})
    measures = values.pop("measures", None)
    opened = chosen_collection(asked.catalog, str(asked.collection), values.pop("version", None))
    measure = compare_strictly if asked.strict else evaluate
    return measure(opened, asked.needed_queries(), asked.relevant, **values), measures


def _of_files(asked: _Asked, set_: list[str]) -> tuple[Comparison, list[str] | None]:
    """Compare corrections on files or on similarities. Return as `_of_collection`."""
    known = parameters_of(compare, skip=(*parameters_of(evaluate_command), *_OF_COMPARE))
    values = read_settings(set_, {**_OWN, **_SIMILARITIES, **_GROUPS, **_MEASURES, **known, **_BANKS})
    measures = values.pop("measures", None)
    has_bank = bool(asked.banks) or values.get("bank_similarities") is not None
    vectors = {"queries": asked.queries, "targets": asked.targets, "query-bank": asked.banks or None}
    matrices = _similarities(values, vectors)
    given = matrices or asked.queries
    if given is None or (asked.targets is None and matrices is None):
        needed = "give --collection, or --targets and --queries to compare corrections"
        raise typer.BadParameter(needed, param_hint="--queries" if asked.targets else "--collection")
    if asked.strict + has_bank + ("demand" in values) != 1:
        raise typer.BadParameter("give either --strict or a query bank, or --set demand=1.15", param_hint="--strict")
    values["attribute"] = _attribute(*(values.pop(name, None) for name in _GROUPS))
    if matrices is None:
        values.setdefault("metric", "cosine")
    if "candidates" in values:
        values["candidates"] = values["candidates"] or None
    sizes = values.pop("bank_size", ())
    methods = asked.methods()
    banks = _named(asked.banks)
    return compare_banks(banks, given, asked.targets, asked.relevant, methods, bank_sizes=sizes, **values), measures


def _similarities(values: dict[str, Any], vectors: dict[str, Any]) -> SimilarityMatrices | None:
    """Take the similarities out of the values of `--set`, if there are any. Then no `vectors` may be given."""
    given = {name: values.pop(name, None) for name in _SIMILARITIES}
    found = next((name for name, path in given.items() if path is not None), None)
    if found is None:
        return None
    refuse(f"--set {found}", vectors)
    return SimilarityMatrices(*given.values())


def _named(banks: list[Path]) -> dict[str, Path | None]:
    """Return banks by the names of their files, or by their paths where names are alike."""
    named: dict[str, Path | None] = {path.stem: path for path in banks}
    if len(named) < len(banks):
        named = {str(path): path for path in banks}
    return named or {"bank": None}


def _show(result: Any, table: TextTable, output: Sequence[Path], json_: bool, *drawn: str) -> None:
    for path in output:
        write_result(result, table, path, *drawn)
    if json_:
        print_json(result.as_json())
    else:
        print_table(table.rich())


def _abstention(asked: _Asked, set_: list[str]) -> Abstention:
    """Measure how well confidence says which answers are right."""
    queries = asked.needed_queries()
    if asked.collection is not None:
        values = read_settings(set_, {**_OWN, "version": str, "accuracy": float, "sure": float})
        opened = chosen_collection(asked.catalog, asked.collection, values.pop("version", None))
        return abstain_collection(opened, queries, asked.relevant, **values)
    values = read_settings(set_, _OWN | parameters_of(measure_abstention, skip=parameters_of(evaluate_command)))
    if asked.targets is None or asked.strict == bool(asked.banks) or len(asked.banks) > 1:
        raise typer.BadParameter("give --collection; or --targets, and either --strict or a query bank")
    entries = usage("--correction", entries_from, asked.corrections or ["auto"])
    if len(entries) > 1:
        raise typer.BadParameter("give one with abstain=true", param_hint="--correction")
    values.setdefault("metric", "cosine")
    bank = next(iter(asked.banks), None)
    return measure_abstention(queries, asked.targets, asked.relevant, entries[0], query_bank=bank, **values)


def _own_settings(set_: list[str] | None) -> tuple[dict[str, Any], list[str]]:
    own = [one for one in set_ or [] if one.partition("=")[0] in _OWN]
    return read_settings(own, _OWN), [one for one in set_ or [] if one not in own]


def usage(option: str, check: Any, *given: Any) -> Any:
    """Return what a check returns. Its `InputError` becomes a usage error of the option."""
    try:
        return check(*given)
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def entries_from(given: list[str] | None) -> list[Method]:
    """Return corrections that are written as NAME or NAME:KEY=VALUE,KEY=VALUE. Raises `InputError`."""
    return as_methods([short_correction(text) for text in given or []])


def _attribute(groups: Path | None, column: str | None, top: int | None) -> Attribute | None:
    if groups is not None:
        return Attribute(read_groups(groups, column or "groups"), 10 if top is None else top)
    if column is not None:
        raise typer.BadParameter("attribute needs groups, a file that has the column", param_hint="--set")
    return None


_SHOWN = 10


def tune_command(
    relevant: RelevantOption,
    queries: QueriesOption = None,
    targets: TargetsIfAny = None,
    grid: Annotated[
        list[str] | None, typer.Option(metavar="NAME.KEY=VALUES", help="Try these values, as nnn.k=1,2,4; repeatable.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the file for `build --correction`: .json.")
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
    values = {
        "metric": "cosine",
        **read_settings(set_, parameters_of(tune, skip=(*parameters_of(tune_command), "grids"))),
    }
    if queries is None or targets is None:
        missing = "--targets" if targets is None else "--queries"
        raise typer.BadParameter("give --queries and --targets", param_hint=missing)
    tuned = tune(queries, targets, relevant, grids=_grids(grid or []), progress=bars_or_lines(), **values)
    if output is not None:
        tuned.save(output)
    if json_:
        print_json(tuned.as_json())
        return
    print_table(_tuned_table(tuned))


def _grids(given: list[str]) -> dict[str, dict[str, Sequence[Any]]]:
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
    """Return the ten best candidates and the raw ranking, and above them what was chosen and why."""
    parameters = " ".join(f"{key}={value}" for key, value in tuned.parameters.items())
    gain = tuned.gain
    best = sorted(tuned.candidates, key=lambda candidate: candidate.below_best)
    raw = tuned.candidates[0]
    shown = best[:_SHOWN] + ([] if raw in best[:_SHOWN] else [raw])
    table = empty_table("candidate", "R@1", "below the best", "± standard error")
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
