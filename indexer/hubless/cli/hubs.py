"""Commands that look at hubs. Parsing and printing only."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from hubless.builder.banks.bank_checks import NO_QUERIES
from hubless.cli.completion import collections
from hubless.cli.options import (
    BankOfTargetsOption,
    CatalogIfAny,
    JsonOption,
    LiveQueriesOption,
    MetricOption,
    PayloadIfAny,
    VersionOption,
    open_collection,
)
from hubless.cli.printing import facts, print_item, print_json, print_table, table_of
from hubless.cli.similarities import (
    BankSimilaritiesOption,
    SimilaritiesOption,
    TargetBankSimilaritiesOption,
    similarities_from,
)
from hubless.errors import InputError
from hubless.lab.diagnose import SHOWN, diagnose
from hubless.lab.diagnosis import Diagnosis
from hubless.lab.experiments.methods import parse_methods
from hubless.lab.gallery import Gallery, gallery_of, gallery_of_matrices, open_gallery
from hubless.lab.report.contents import SEEDS, Wanted, make_report
from hubless.lab.report.page import write_report
from hubless.lab.scan.findings import Finding, Scan
from hubless.lab.scan.scanning import BUDGET, scan
from hubless.store.catalog import Catalog
from hubless.store.durable import check_place
from hubless.store.kept_scan import keep_scan

ALERT = 3
"""Exit code of `scan` if a target reaches the threshold."""

ExaminedOption = Annotated[
    str | None,
    typer.Option(
        "--collection", metavar="NAME", help="Examine this collection instead of files.", autocompletion=collections
    ),
]
TargetsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="What can be found: .npy, .npz, .parquet or a folder.")
]
IdsOption = Annotated[Path | None, typer.Option(metavar="FILE", help="Ids of the targets: .npy, .txt or .parquet.")]
ExtraTargetsOption = Annotated[Path | None, typer.Option(metavar="FILE", help="Extra targets, such as training items.")]


def diagnose_command(
    targets: TargetsOption = None,
    query_bank: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Example queries; a collection has its own."),
    ] = None,
    target_bank: ExtraTargetsOption = None,
    similarities: SimilaritiesOption = None,
    bank_similarities: BankSimilaritiesOption = None,
    target_bank_similarities: TargetBankSimilaritiesOption = None,
    catalog: CatalogIfAny = None,
    collection: ExaminedOption = None,
    version: VersionOption = None,
    ids: IdsOption = None,
    payload: PayloadIfAny = None,
    metric: MetricOption = "cosine",
    queries: Annotated[Path | None, typer.Option(metavar="FILE", help="Labelled queries, to measure the gain.")] = None,
    relevant: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Row numbers of their right targets: .npy, or .json lists.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="Number of hubs to name.")] = SHOWN,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of what is sampled and held out.")] = 0,
    bank_of_targets: BankOfTargetsOption = False,
    live_queries: LiveQueriesOption = None,
    json_: JsonOption = False,
) -> None:
    """Find out without labels whether hubness hurts.

    Says how unevenly targets are found, whether the query bank is good, and what
    auto changes; with labels, also what it gains. Give --targets, or --catalog
    and --collection, or --bank-similarities.

    \b
    Example:
      hubless diagnose --targets images.npy --query-bank captions.npy
    """
    vectors = {"targets": targets, "query-bank": query_bank, "target-bank": target_bank, "queries": queries}
    vectors["live-queries"] = live_queries
    matrices = similarities_from(
        similarities,
        bank_similarities,
        target_bank_similarities,
        None,
        {"collection": collection, "catalog": catalog, "version": version, "metric": metric != "cosine"} | vectors,
    )
    if matrices is not None:
        if relevant is not None and similarities is None:
            raise typer.BadParameter("needs --similarities", param_hint="--relevant")
        gallery = gallery_of_matrices(matrices.open(), ids=ids, payload=payload)
        _print_diagnosis(diagnose(gallery, relevant=relevant, top=top, seed=seed), json_)
        return
    gallery = gallery_from(targets, catalog, collection, version, ids, payload, metric)
    if (queries is None) != (relevant is None):
        raise typer.BadParameter("needs --queries and --relevant", param_hint="--relevant" if queries else "--queries")
    if collection is None and query_bank is None and queries is None:
        raise typer.BadParameter(f"--targets needs it. {NO_QUERIES}", param_hint="--query-bank")
    diagnosis = diagnose(
        gallery,
        query_bank,
        target_bank=target_bank,
        queries=queries,
        relevant=relevant,
        top=top,
        seed=seed,
        bank_of_targets=bank_of_targets,
        live_queries=live_queries,
    )
    _print_diagnosis(diagnosis, json_)


def _print_diagnosis(diagnosis: Diagnosis, json_: bool) -> None:
    if json_:
        print_json(diagnosis.as_json())
        return
    for sentence in [*diagnosis.verdict, *(f"Note: {note}." for note in diagnosis.notes)]:
        print_item(sentence)
    typer.echo()
    for table in _diagnosis_tables(diagnosis):
        print_table(table)


def scan_command(
    queries: Annotated[Path, typer.Option(metavar="FILE", help="Real queries, such as logged ones; at least 20.")],
    targets: TargetsOption = None,
    catalog: CatalogIfAny = None,
    collection: ExaminedOption = None,
    version: VersionOption = None,
    ids: IdsOption = None,
    payload: PayloadIfAny = None,
    metric: MetricOption = "cosine",
    admit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="New items: score these before you add them.")
    ] = None,
    modality: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Rank the targets of each value of this payload column apart.")
    ] = None,
    budget: Annotated[int, typer.Option(min=1, metavar="N", help="Number of targets to list.")] = BUDGET,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="X", help="Exit with code 3 if a score reaches this.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Accept queries that are targets.")] = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the topics.")] = 0,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the list in the catalog: the console shows it.")] = False,
    json_: JsonOption = False,
) -> None:
    """List targets that real queries find too often.

    Such hubs may have been planted. Give --targets, or --catalog and
    --collection.

    \b
    Example:
      hubless scan --targets images.npy --queries logged.npy --threshold 0.6
    """
    if keep and (collection is None or admit is not None):
        raise typer.BadParameter("needs --collection, and no --admit", param_hint="--keep")
    gallery = gallery_from(targets, catalog, collection, version, ids, payload, metric)
    new = None if admit is None else open_gallery(admit, metric=gallery.metric, parameter="admit")
    found = scan(
        gallery, queries, admit=new, modality=modality, budget=budget, threshold=threshold, force=force, seed=seed
    )
    if json_:
        print_json(found.as_json())
    else:
        print_table(_scan_table(found), names=2)
    if keep and catalog is not None and gallery.collection is not None:
        scanned = gallery.collection
        keep_scan(Catalog(catalog).home(scanned.name), found.kept(scanned.version))
    if found.alerts:
        raise typer.Exit(ALERT)


def report_command(
    output: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the page: .html.")],
    targets: TargetsOption = None,
    query_bank: Annotated[Path | None, typer.Option(metavar="FILE", help="Example queries.")] = None,
    target_bank: ExtraTargetsOption = None,
    queries: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labelled queries, to compare corrections.")
    ] = None,
    relevant: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Row numbers of their right targets: .npy, or .json lists.")
    ] = None,
    similarities: SimilaritiesOption = None,
    bank_similarities: BankSimilaritiesOption = None,
    target_bank_similarities: TargetBankSimilaritiesOption = None,
    catalog: CatalogIfAny = None,
    collection: ExaminedOption = None,
    version: VersionOption = None,
    ids: IdsOption = None,
    payload: PayloadIfAny = None,
    metric: MetricOption = "cosine",
    correction: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Draw the curves of this one; repeatable.")
    ] = None,
    heat_map: Annotated[bool, typer.Option("--heat-map", help="Draw similarities, before and after.")] = False,
    projection: Annotated[bool, typer.Option("--projection", help="Draw hubs on a plane, before and after.")] = False,
    example: Annotated[
        list[int] | None,
        typer.Option(min=0, metavar="ROW", help="Show the first answers to this query; repeatable."),
    ] = None,
    other_bank: Annotated[
        list[str] | None, typer.Option(metavar="NAME=FILE", help="Compare this query bank; repeatable.")
    ] = None,
    no_images: Annotated[bool, typer.Option("--no-images", help="Leave out images that payload names.")] = False,
    seeds: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of splits, with labels and without a bank.")
    ] = SEEDS,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of what is sampled and held out.")] = 0,
    bank_of_targets: BankOfTargetsOption = False,
    json_: JsonOption = False,
) -> None:
    """Write one HTML page with all that the lab says of your data.

    Give --targets, or --catalog and --collection, or --bank-similarities.

    \b
    Example:
      hubless report --targets images.npy --query-bank captions.npy \\
          --output report.html
    """
    if output.suffix not in (".html", ".htm"):
        raise typer.BadParameter("expected a file that ends in .html", param_hint="--output")
    # fail before the long work if the page cannot be written
    check_place(output)
    try:
        entries = parse_methods(correction, {}) if correction else []
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint="--correction") from error
    wanted = Wanted(entries, heat_map, projection, example or [], _named_files(other_bank or []), not no_images)
    vectors = {"targets": targets, "query-bank": query_bank, "target-bank": target_bank, "queries": queries}
    matrices = similarities_from(
        similarities,
        bank_similarities,
        target_bank_similarities,
        None,
        {"collection": collection, "catalog": catalog, "version": version, "metric": metric != "cosine"}
        | vectors
        | {"projection": projection, "example": example, "other-bank": other_bank},
    )
    if matrices is None:
        gallery = gallery_from(targets, catalog, collection, version, ids, payload, metric)
    elif relevant is not None and similarities is None:
        raise typer.BadParameter("needs --similarities", param_hint="--relevant")
    else:
        gallery = gallery_of_matrices(matrices.open(), ids=ids, payload=payload)
    report = make_report(
        gallery,
        query_bank,
        target_bank=target_bank,
        queries=queries,
        relevant=relevant,
        wanted=wanted,
        seeds=seeds,
        seed=seed,
        bank_of_targets=bank_of_targets,
    )
    write_report(report, output)
    if json_:
        print_json({"output": output})
    else:
        typer.echo(str(output))


def _named_files(given: list[str]) -> dict[str, Path]:
    """Files that are written as NAME=FILE, by name; a file alone is called after itself."""
    named: dict[str, Path] = {}
    for text in given:
        name, equals, path = text.partition("=")
        called = name if equals else Path(text).stem
        if not called or called in named:
            raise typer.BadParameter(f"expected NAME=FILE, each name once, got {text}", param_hint="--other-bank")
        named[called] = Path(path if equals else text)
    return named


def gallery_from(
    targets: Path | None,
    catalog: Path | None,
    collection: str | None,
    version: str | None,
    ids: Path | None,
    payload: Path | None,
    metric: Literal["cosine", "dot"],
) -> Gallery:
    """Open the targets to examine, from files or from a collection."""
    if (collection is None) == (targets is None):
        raise typer.BadParameter("give either --targets or --collection", param_hint="--targets")
    if targets is not None:
        if catalog is not None or version is not None:
            raise typer.BadParameter("needs --collection", param_hint="--catalog" if catalog else "--version")
        return open_gallery(targets, ids=ids, payload=payload, metric=metric)
    for option, given in (("--ids", ids), ("--payload", payload)):
        if given is not None:
            raise typer.BadParameter("is for --targets only: a collection has its own", param_hint=option)
    if collection is None:
        raise InputError("collection", "a name", "none")
    return gallery_of(open_collection(catalog, collection, version))


def _diagnosis_tables(diagnosis: Diagnosis) -> list[Table]:
    uneven = table_of("", "raw", "auto", "chance", title=f"How uneven, over {diagnosis.held_out:,} held-out queries")
    for depth in diagnosis.depths:
        raw, corrected, chance = depth.raw, depth.corrected, depth.chance
        all_three = (raw, corrected, chance)
        uneven.add_row(f"skewness of N_{depth.k}", *(f"{shape.skewness:.2f}" for shape in all_three))
        uneven.add_row(f"most found, N_{depth.k}", *(f"{shape.most:,}" for shape in all_three))
        uneven.add_row(f"never found, N_{depth.k}", *(f"{shape.antihubs:.1%}" for shape in all_three))
        robin_hood = (f"{shape.robin_hood:.1%}" for shape in (raw, corrected))
        uneven.add_row(f"Robin Hood, N_{depth.k}", *robin_hood, "", end_section=True)
    headings = ["id", "found raw", "by auto", "offset", "payload"]
    hubs = table_of(*headings, texts=["id", "payload"], title="The largest hubs, N_10")
    for hub in diagnosis.hubs:
        shown = _payload(hub.target.payload)
        hubs.add_row(str(hub.target.id), f"{hub.raw:,}", f"{hub.corrected:,}", f"{hub.offset:+.4f}", shown)
    bank, effective = diagnosis.bank, diagnosis.bank.effective
    rows = {
        "queries": f"{bank.queries:,}, {bank.repeated:,} repeated",
        "targets covered": "–" if bank.coverage is None else f"{bank.coverage:.0%}",
        "effective queries per target": f"{effective.mean:.0f} (5 % of the targets: under {effective.low:.0f})",
        "distance to the targets": "–" if bank.distance is None else f"{bank.distance:.3f}",
        "distance within the bank": "–" if bank.own_distance is None else f"{bank.own_distance:.3f}",
        "auto": str(diagnosis.auto.get("why", "")),
        "never found": ", ".join(str(named.id) for named in diagnosis.never) or "none",
    }
    return [uneven, hubs, facts(rows, title="The query bank")]


def _scan_table(found: Scan) -> Table:
    listed = "New items" if found.admitted is not None else "Targets"
    headings = ["", "id", "score", "N_10", "offset", "exposure", "corrected", "why"]  # the rest is in the JSON
    title = f"{listed} that {found.queries:,} queries see too often"
    table = table_of(*headings, texts=["id", "why"], title=title)
    for finding in sorted(found.findings, key=lambda finding: -finding.measured.score):
        measured = finding.measured
        table.add_row(
            str(finding.place),
            str(finding.target.id),
            f"{measured.score:.2f}",
            f"{measured.counts[10]:,}",
            f"{100 * measured.offset_percentile:.1f} %",
            f"{measured.exposure['raw']:.2f}",
            f"{measured.exposure['corrected']:.2f}",
            f"{_of(finding)}{finding.why} {_payload(finding.target.payload)}".strip(),
        )
    said = [f"{found.targets:,} targets; topics of queries: {', '.join(map(str, found.topics)) or 'too few queries'}"]
    said += [f"{name}: {count:,} targets" for name, count in found.modalities.items()]
    said += [f"corrected: {found.correction}", "offset: the share of the targets with a lower one"]
    if found.threshold is not None:
        said.append(f"{found.alerts:,} reach the threshold of {found.threshold:g}")
    table.caption = ". ".join([*said, *found.notes]) + "."
    return table


def _of(finding: Finding) -> str:
    return "" if finding.modality is None else f"({finding.modality}) "


def _payload(payload: dict[str, Any] | None) -> str:
    return "" if payload is None else json.dumps(payload, ensure_ascii=False, default=str)
