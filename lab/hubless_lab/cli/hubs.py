"""The commands `scan` and `report`. Parsing and printing only."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from hubless.cli.options import (
    EXAMINED,
    OF_GALLERY,
    SET,
    BankOption,
    CatalogIfAny,
    CollectionIfAny,
    JsonOption,
    SetOption,
    TargetsIfAny,
    examined_from,
    parameters_of,
    read_settings,
)
from hubless.cli.printing import empty_table, payload_text, print_json, print_table
from hubless.diagnosing.gallery import open_gallery
from hubless.store.catalog import Catalog
from hubless.store.durable import check_place
from hubless.store.kept_scan import keep_scan
from hubless_lab.cli.evaluate import usage
from hubless_lab.experiments.methods import as_methods
from hubless_lab.report import make_report
from hubless_lab.scan.scanning import scan
from hubless_lab.scan.suspects import Scan

ALERT = 3


def scan_command(
    queries: Annotated[
        Path, typer.Option("--queries", metavar="FILE", help="Real queries, such as logged ones; at least 20.")
    ],
    targets: TargetsIfAny = None,
    catalog: CatalogIfAny = None,
    collection: CollectionIfAny = None,
    set_: SetOption = None,
    json_: JsonOption = False,
) -> None:
    """List targets that real queries find too often.

    Such hubs may have been planted. Give targets or a collection. With --set
    threshold=X a score of X ends it with exit code 3. With --set keep=true the
    list stays in the catalog, where the console shows it.

    \b
    Example:
      hubless scan --targets images.npy --queries logged.npy --set threshold=0.6
    """
    known = parameters_of(scan, skip=(*OF_GALLERY, "queries"))
    values = read_settings(set_, {**EXAMINED, **known, "admit": Path, "keep": bool})
    admit = values.pop("admit", None)
    keep = values.pop("keep", False)
    if keep and (collection is None or admit is not None):
        raise typer.BadParameter("keep needs --collection, and no new items to admit", param_hint=SET)
    gallery = examined_from(values, targets, catalog, collection)
    new = None if admit is None else open_gallery(admit, metric=gallery.metric, parameter="admit")
    found = scan(gallery, queries, admit=new, **values)
    if json_:
        print_json(found.as_json())
    else:
        print_table(_scan_table(found))
    if keep and catalog is not None and gallery.collection is not None:
        scanned = gallery.collection
        keep_scan(Catalog(catalog).home(scanned.name), found.kept(scanned.version))
    if found.alerts:
        raise typer.Exit(ALERT)


def report_command(
    output: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the page: .html.")],
    targets: TargetsIfAny = None,
    query_bank: BankOption = None,
    catalog: CatalogIfAny = None,
    collection: CollectionIfAny = None,
    set_: SetOption = None,
    json_: JsonOption = False,
) -> None:
    """Write one HTML page with all that the lab says of your data.

    Give --targets, or --catalog and --collection.

    \b
    Example:
      hubless report --targets t.npy --query-bank q.npy --output report.html
    """
    if output.suffix not in (".html", ".htm"):
        raise typer.BadParameter("expected a file that ends in .html", param_hint="--output")
    # fail before the long work if the page cannot be written
    check_place(output)
    known = parameters_of(make_report, skip=("gallery", "query_bank"))
    values = read_settings(set_, {**EXAMINED, **known, "relevant": Path, "corrections": Sequence[str]})
    gallery = examined_from(values, targets, catalog, collection)
    usage(SET, as_methods, values.get("corrections"))
    make_report(gallery, query_bank, **values).save(output)
    if json_:
        print_json({"output": output})
    else:
        typer.echo(str(output))


def _scan_table(found: Scan) -> Table:
    """Return the targets that are found too often, the most suspicious first, and why."""
    listed = "New items" if found.admitted is not None else "Targets"
    headings = ["", "id", "score", "N_10", "offset", "why"]  # the rest is in the JSON
    title = f"{listed} that {found.queries:,} queries see too often"
    table = empty_table(*headings, title=title)
    for finding in sorted(found.findings, key=lambda finding: -finding.measured.score):
        measured = finding.measured
        table.add_row(
            str(finding.place),
            str(finding.target.id),
            f"{measured.score:.2f}",
            f"{measured.counts[10]:,}",
            f"{100 * measured.offset_percentile:.1f} %",
            f"{finding.why} {payload_text(finding.target.payload)}".strip(),
        )
    said = [f"{found.targets:,} targets; topics of queries: {', '.join(map(str, found.topics)) or 'too few queries'}"]
    said.append(f"offset, by {found.correction}: the share of the targets with a lower one")
    if found.threshold is not None:
        said.append(f"{found.alerts:,} reach the threshold of {found.threshold:g}")
    table.caption = ". ".join([*said, *found.notes]) + "."
    return table
