"""Commands that look at hubs. Parsing and printing only."""

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.table import Table

from hubless.cli.options import (
    EXAMINED,
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
    refuse,
)
from hubless.cli.printing import empty_table, facts, print_item, print_json, print_table
from hubless.databases.spool import spooled_rows
from hubless.errors import InputError
from hubless.lab.corpus import Corpus
from hubless.lab.diagnose import diagnose
from hubless.lab.diagnosis import Diagnosis
from hubless.lab.experiments.methods import as_methods
from hubless.lab.gallery import open_gallery
from hubless.lab.report import make_report
from hubless.lab.scan.scanning import scan
from hubless.lab.scan.suspects import Scan
from hubless.progress import bars_or_lines
from hubless.store.catalog import Catalog
from hubless.store.durable import check_place
from hubless.store.kept_scan import keep_scan

_OF_GALLERY = ("targets", "metric", "ids", "payload")
ALERT = 3
SHOWN_IDS = 5
MOST_SAID, SHOWN_HUBS = 5, 3
"""Sentences and hubs that leave room on a screen of 24 lines."""


def diagnose_command(
    address: Annotated[
        str | None, typer.Argument(metavar="[ADDRESS]", help="A database, such as qdrant://localhost:6333/photos.")
    ] = None,
    targets: TargetsIfAny = None,
    query_bank: BankOption = None,
    catalog: CatalogIfAny = None,
    collection: CollectionIfAny = None,
    set_: SetOption = None,
    all_: Annotated[bool, typer.Option("--all", help="Show all measures, hubs and notes.")] = False,
    json_: JsonOption = False,
) -> None:
    """Find out without labels whether hubness hurts.

    Says how unevenly targets are found, whether the query bank is good, and what
    auto changes; with --set queries=FILE and relevant=FILE also what it gains.
    Give --targets, an address, or a --collection. Without queries it says how
    targets find each other, and which are near-duplicates.

    \b
    Example:
      hubless diagnose --targets images.npy --query-bank captions.npy
    """
    with TemporaryDirectory() as folder:
        if address is not None:
            refuse("an address", {"targets": targets, "catalog": catalog, "collection": collection})
            targets = spooled_rows(address, Path(folder))
        known = parameters_of(diagnose, skip=(*_OF_GALLERY, "query_bank"))
        values = read_settings(set_, {**EXAMINED, **known, "relevant": Path})
        gallery = examined_from(values, targets, catalog, collection)
        if ("queries" in values) != ("relevant" in values):
            raise typer.BadParameter("queries and relevant come together", param_hint=SET)
        diagnosis = diagnose(gallery, query_bank, progress=bars_or_lines(), **values)
    if json_:
        print_json(diagnosis.as_json())
        return
    notes = [] if isinstance(diagnosis, Corpus) else diagnosis.notes
    if not all_:
        _print_in_short(diagnosis, len(notes))
        return
    for sentence in [*diagnosis.verdict, *(f"Note: {note}." for note in notes)]:
        print_item(sentence)
    typer.echo()
    for table in _corpus_tables(diagnosis) if isinstance(diagnosis, Corpus) else _diagnosis_tables(diagnosis):
        print_table(table)


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
    known = parameters_of(scan, skip=(*_OF_GALLERY, "queries"))
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
    try:
        as_methods(values.get("corrections"))
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint=SET) from error
    make_report(gallery, query_bank, **values).save(output)
    if json_:
        print_json({"output": output})
    else:
        typer.echo(str(output))


def _print_in_short(diagnosis: Diagnosis | Corpus, notes: int) -> None:
    """Print what fits on one screen: the verdict, six figures, three hubs."""
    verdict = diagnosis.verdict
    for sentence in [*verdict[: MOST_SAID - 1], *verdict[MOST_SAID - 1 :][-1:]]:  # the last says what to expect
        print_item(sentence)
    figures = diagnosis.uneven(whole=False)
    table = Table(*figures.headings, box=None, padding=(0, 2))
    for line in figures.lines[:3]:
        table.add_row(*line)
    typer.echo()
    print_table(table)
    if isinstance(diagnosis, Corpus):
        hubs = [f"{hub.target.id} ({hub.count:,})" for hub in diagnosis.hubs[:SHOWN_HUBS]]
        counted, more = "by other targets", "near-duplicates"
    else:
        hubs = [f"{hub.target.id} ({hub.raw:,}, {hub.corrected:,})" for hub in diagnosis.hubs[:SHOWN_HUBS]]
        counted, more = "raw and by auto", "the bank"
    left = len(verdict[MOST_SAID:]) + notes
    said = f"{left:,} more {'sentence' if left == 1 else 'sentences'}, " if left else ""
    print_item(f"Largest hubs, found {counted}: {', '.join(hubs)}. `--all` shows {said}N_1, N_20 and {more}.")


def _diagnosis_tables(diagnosis: Diagnosis) -> list[Table]:
    headings = ["id", "found raw", "by auto", "offset", "payload"]
    hubs = empty_table(*headings, title="The largest hubs, N_10")
    for hub in diagnosis.hubs:
        shown = _payload(hub.target.payload)
        hubs.add_row(str(hub.target.id), f"{hub.raw:,}", f"{hub.corrected:,}", f"{hub.offset:+.4f}", shown)
    bank = diagnosis.bank
    rows = {
        "queries": f"{bank.queries:,}, {100 * bank.repeated:.0f} % repeated",
        "targets covered": "–" if bank.coverage is None else f"{100 * bank.coverage:.0f} %",
        "told apart from the targets": "–" if bank.apart_from_targets is None else f"{bank.apart_from_targets:.2f} AUC",
        "auto": str(diagnosis.auto.get("why", "")),
        "never found": ", ".join(str(named.id) for named in diagnosis.never) or "none",
    }
    return [diagnosis.uneven().rich(), hubs, facts(rows, title="The query bank")]


def _corpus_tables(corpus: Corpus) -> list[Table]:
    hubs = empty_table("id", "found", "payload", title=f"Found most by other targets, N_{corpus.main.k}")
    for hub in corpus.hubs:
        hubs.add_row(str(hub.target.id), f"{hub.count:,}", _payload(hub.target.payload))
    never = empty_table("id", "payload", title="Some that no other target finds")
    for named in corpus.never:
        never.add_row(str(named.id), _payload(named.payload))
    alike = empty_table("targets", "ids", "payload of the first", title="Near-duplicates, the largest groups")
    for group in corpus.near_duplicates:
        ids = [str(named.id) for named in group]
        more = f" and {len(ids) - SHOWN_IDS:,} more" if len(ids) > SHOWN_IDS else ""
        alike.add_row(f"{len(ids):,}", ", ".join(ids[:SHOWN_IDS]) + more, _payload(group[0].payload))
    return [corpus.uneven().rich(), *(table for table in (hubs, never, alike) if table.row_count)]


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
            f"{finding.why} {_payload(finding.target.payload)}".strip(),
        )
    said = [f"{found.targets:,} targets; topics of queries: {', '.join(map(str, found.topics)) or 'too few queries'}"]
    said.append(f"offset, by {found.correction}: the share of the targets with a lower one")
    if found.threshold is not None:
        said.append(f"{found.alerts:,} reach the threshold of {found.threshold:g}")
    table.caption = ". ".join([*said, *found.notes]) + "."
    return table


def _payload(payload: dict[str, Any] | None) -> str:
    return "" if payload is None else json.dumps(payload, ensure_ascii=False, default=str)
