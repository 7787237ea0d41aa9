"""The commands that look at hubs: parsing and printing only."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

import hubless
from hubless.cli_options import JsonOption
from hubless.diagnose import SHOWN, Diagnosis, diagnose
from hubless.errors import InputError
from hubless.gallery import Gallery, gallery_of, open_gallery
from hubless.printing import print_json, print_table
from hubless.report import SEEDS, make_report
from hubless.report_page import write_report
from hubless.report_plots import load_matplotlib
from hubless.scan import BUDGET, scan
from hubless.scan_findings import Scan
from hubless.storage import check_place

ALERT = 3
"""Exit code of `scan` when a target reaches the threshold."""

CatalogOption = Annotated[
    Path | None, typer.Option("--catalog", metavar="DIR", help="Folder that holds the collections.")
]
CollectionOption = Annotated[
    str | None, typer.Option("--collection", metavar="NAME", help="Examine a collection, instead of files.")
]
VersionOption = Annotated[
    str | None, typer.Option("--version", metavar="ID", help="A version of it, instead of the current.")
]
TargetsOption = Annotated[
    Path | None, typer.Option(metavar="F", help="What can be found: .npy, .npz, .parquet, or a folder.")
]
IdsOption = Annotated[Path | None, typer.Option(metavar="F", help="Ids of the targets: .npy, .txt or .parquet.")]
PayloadOption = Annotated[
    Path | None, typer.Option(metavar="F", help="Payload of the targets: .parquet, .jsonl or .csv.")
]
MetricOption = Annotated[
    Literal["cosine", "dot"], typer.Option(help="Of --targets: cosine brings vectors to length 1.")
]
TargetBankOption = Annotated[Path | None, typer.Option(metavar="F", help="Extra targets, such as training items.")]


def diagnose_command(
    targets: TargetsOption = None,
    query_bank: Annotated[
        Path | None,
        typer.Option(metavar="F", help="Example queries. Of a collection, by default those it was fitted on."),
    ] = None,
    target_bank: TargetBankOption = None,
    catalog: CatalogOption = None,
    collection: CollectionOption = None,
    version: VersionOption = None,
    ids: IdsOption = None,
    payload: PayloadOption = None,
    metric: MetricOption = "cosine",
    top: Annotated[int, typer.Option(min=1, help="How many hubs to name.")] = SHOWN,
    seed: Annotated[int, typer.Option(min=0, help="Of what is sampled and held out.")] = 0,
    json_: JsonOption = False,
) -> None:
    """Say whether hubness hurts, without labels: how bad it is, whether the bank is good, and what `auto` does to it.

    Example: hubless diagnose --targets images.npy --query-bank captions.npy
    """
    gallery = gallery_from(targets, catalog, collection, version, ids, payload, metric)
    if collection is None and query_bank is None:
        raise typer.BadParameter("give it, as there is no collection to take it from", param_hint="--query-bank")
    diagnosis = diagnose(gallery, query_bank, target_bank=target_bank, top=top, seed=seed)
    if json_:
        print_json(diagnosis.as_json())
        return
    for sentence in diagnosis.verdict:
        typer.echo(f"• {sentence}")
    for note in diagnosis.notes:
        typer.echo(f"• Note: {note}.")
    typer.echo()
    for table in _diagnosis_tables(diagnosis):
        print_table(table)


def scan_command(
    queries: Annotated[Path, typer.Option(metavar="F", help="Real queries, such as logged ones.")],
    targets: TargetsOption = None,
    catalog: CatalogOption = None,
    collection: CollectionOption = None,
    version: VersionOption = None,
    ids: IdsOption = None,
    payload: PayloadOption = None,
    metric: MetricOption = "cosine",
    admit: Annotated[
        Path | None, typer.Option(metavar="F", help="New items: score them, before they are added.")
    ] = None,
    budget: Annotated[int, typer.Option(min=1, help="How many targets to list.")] = BUDGET,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Exit with code 3 if a score is as high as this.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Take queries that are targets all the same.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the topics.")] = 0,
    json_: JsonOption = False,
) -> None:
    """List targets that real queries see too often, overall or within a topic: hubs that may have been planted.

    Example: hubless scan --targets images.npy --queries logged.npy --threshold 0.6
    """
    gallery = gallery_from(targets, catalog, collection, version, ids, payload, metric)
    new = None if admit is None else open_gallery(admit, metric=gallery.metric, parameter="admit")
    found = scan(gallery, queries, admit=new, budget=budget, threshold=threshold, force=force, seed=seed)
    if json_:
        print_json(found.as_json())
    else:
        print_table(_scan_table(found))
    if found.alerts:
        raise typer.Exit(ALERT)


def report_command(
    output: Annotated[Path, typer.Option(metavar="F", help="Where to write the page: .html.")],
    targets: TargetsOption = None,
    query_bank: Annotated[Path | None, typer.Option(metavar="F", help="Example queries.")] = None,
    target_bank: TargetBankOption = None,
    queries: Annotated[Path | None, typer.Option(metavar="F", help="Labelled queries, to compare corrections.")] = None,
    relevant: Annotated[
        Path | None, typer.Option(metavar="F", help="Row number of the right target of each: .npy, or .json lists.")
    ] = None,
    catalog: CatalogOption = None,
    collection: CollectionOption = None,
    version: VersionOption = None,
    ids: IdsOption = None,
    payload: PayloadOption = None,
    metric: MetricOption = "cosine",
    seeds: Annotated[int, typer.Option(min=1, help="How many splits, with labels and without a bank.")] = SEEDS,
    seed: Annotated[int, typer.Option(min=0, help="Of what is sampled and held out.")] = 0,
) -> None:
    """Write a page with all that the lab says of some data: tables, plots, hubs. It loads nothing from the network.

    Example: hubless report --targets images.npy --query-bank captions.npy --output report.html
    """
    if output.suffix not in (".html", ".htm"):
        raise typer.BadParameter("a file ending in .html", param_hint="--output")
    # what no page could be made of need not be examined
    check_place(output)
    load_matplotlib()
    gallery = gallery_from(targets, catalog, collection, version, ids, payload, metric)
    report = make_report(
        gallery,
        query_bank,
        target_bank=target_bank,
        queries=queries,
        relevant=relevant,
        seeds=seeds,
        seed=seed,
    )
    write_report(report, output)
    typer.echo(str(output))


def gallery_from(
    targets: Path | None,
    catalog: Path | None,
    collection: str | None,
    version: str | None,
    ids: Path | None,
    payload: Path | None,
    metric: Literal["cosine", "dot"],
) -> Gallery:
    """What is to be examined, either of files or of a collection."""
    if (collection is None) == (targets is None):
        raise typer.BadParameter("give either it, or --collection", param_hint="--targets")
    if targets is not None:
        if catalog is not None or version is not None:
            raise typer.BadParameter("goes with --collection", param_hint="--catalog" if catalog else "--version")
        return open_gallery(targets, ids=ids, payload=payload, metric=metric)
    if catalog is None:
        raise typer.BadParameter("a collection is in a catalog", param_hint="--catalog")
    for option, given in (("--ids", ids), ("--payload", payload)):
        if given is not None:
            raise typer.BadParameter("goes with --targets: a collection has its own", param_hint=option)
    if collection is None:
        raise InputError("collection", "a name", "none")
    return gallery_of(hubless.open(catalog, collection, version=version))


def _diagnosis_tables(diagnosis: Diagnosis) -> list[Table]:
    uneven = Table("", "raw", "auto", "chance", title=f"How uneven, over {diagnosis.held_out:,} held-out queries")
    for depth in diagnosis.depths:
        raw, corrected, chance = depth.raw, depth.corrected, depth.chance
        all_three = (raw, corrected, chance)
        uneven.add_row(f"skewness of N_{depth.k}", *(f"{shape.skewness:.2f}" for shape in all_three))
        uneven.add_row(f"most found, N_{depth.k}", *(f"{shape.most:,}" for shape in all_three))
        uneven.add_row(f"never found, N_{depth.k}", *(f"{shape.antihubs:.1%}" for shape in all_three))
        robin_hood = (f"{shape.robin_hood:.1%}" for shape in (raw, corrected))
        uneven.add_row(f"Robin Hood, N_{depth.k}", *robin_hood, "", end_section=True)
    hubs = Table("id", "found raw", "by auto", "offset", "payload", title="The largest hubs, N_10")
    for hub in diagnosis.hubs:
        shown = _payload(hub.target.payload)
        hubs.add_row(str(hub.target.id), f"{hub.raw:,}", f"{hub.corrected:,}", f"{hub.offset:+.4f}", shown)
    bank, effective = diagnosis.bank, diagnosis.bank.effective
    about = Table(show_header=False, title="The query bank")
    rows = {
        "queries": f"{bank.queries:,}, {bank.repeated:,} repeated",
        "targets covered": f"{bank.coverage:.1%}",
        "effective queries per target": f"{effective.mean:.0f} (5 % of the targets: under {effective.low:.0f})",
        "distance to the targets": "–" if bank.distance is None else f"{bank.distance:.3f}",
        "distance within the bank": "–" if bank.own_distance is None else f"{bank.own_distance:.3f}",
        "auto": str(diagnosis.auto.get("why", "")),
        "never found": ", ".join(str(named.id) for named in diagnosis.never) or "none",
    }
    for name, value in rows.items():
        about.add_row(name, value)
    return [uneven, hubs, about]


def _scan_table(found: Scan) -> Table:
    listed = "New items" if found.admitted is not None else "Targets"
    headings = ["id", "score", "N_1", "N_10", "N_20", "log10 p", "offset", "exposure", "corrected", "why"]
    table = Table("", *headings, title=f"{listed} that {found.queries:,} queries see too often")
    for finding in found.findings:
        measured = finding.measured
        table.add_row(
            str(finding.place),
            str(finding.target.id),
            f"{measured.score:.2f}",
            *(f"{count:,}" for count in measured.counts.values()),
            f"{measured.log10_tail:.0f}",
            f"{100 * measured.offset_percentile:.1f} %",
            f"{measured.exposure['raw']:.4f}",
            f"{measured.exposure['corrected']:.4f}",
            f"{finding.why} {_payload(finding.target.payload)}".strip(),
        )
    said = [f"{found.targets:,} targets; topics of queries: {', '.join(map(str, found.topics)) or 'too few queries'}"]
    said += [f"corrected: {found.correction}", "offset: the share of the targets with a lower one"]
    if found.threshold is not None:
        said.append(f"{found.alerts:,} reach the threshold of {found.threshold:g}")
    table.caption = ". ".join([*said, *found.notes]) + "."
    table.caption_justify = "left"
    return table


def _payload(payload: dict[str, Any] | None) -> str:
    return "" if payload is None else json.dumps(payload, ensure_ascii=False, default=str)
