"""The command `diagnose`. Parsing and printing only."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.table import Table

from hubless.cli.options import (
    EXAMINED,
    OF_GALLERY,
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
from hubless.cli.printing import empty_table, facts, payload_text, print_item, print_json, print_table
from hubless.diagnosing.corpus import Corpus
from hubless.diagnosing.diagnose import diagnose
from hubless.diagnosing.diagnosis import Diagnosis
from hubless.diagnosing.limits import Bounds, failed_gates, read_bounds
from hubless.jobs.databases import databases
from hubless.progress import bars_or_lines

FAILED = 4
"""The exit code where a gate failed, as of `reindex`."""
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
    targets find each other, and which are near-duplicates. With
    --set gates.max_skewness=2 it ends with exit code 4 above that.

    \b
    Example:
      hubless diagnose --targets images.npy --query-bank captions.npy
    """
    with TemporaryDirectory() as folder:
        if address is not None:
            refuse("an address", {"targets": targets, "catalog": catalog, "collection": collection})
            targets = databases(address).copied_rows(address, Path(folder))
        known = parameters_of(diagnose, skip=(*OF_GALLERY, "query_bank"))
        values = read_settings(set_, {**EXAMINED, **known, "relevant": Path, "gates": Bounds})
        bounds = read_bounds(values.pop("gates", {}))
        gallery = examined_from(values, targets, catalog, collection)
        diagnosis = diagnose(gallery, query_bank, progress=bars_or_lines(), **values)
    found = diagnosis.as_json()
    notes = [] if isinstance(diagnosis, Corpus) else diagnosis.notes
    if json_:
        print_json(found)
    elif not all_:
        _print_in_short(diagnosis, len(notes))
    else:
        for sentence in [*diagnosis.verdict, *(f"Note: {note}." for note in notes)]:
            print_item(sentence)
        typer.echo()
        for table in _corpus_tables(diagnosis) if isinstance(diagnosis, Corpus) else _diagnosis_tables(diagnosis):
            print_table(table)
    if failed := failed_gates(bounds, found):
        typer.echo("\n".join(f"error: {each}" for each in failed), err=True)
        raise typer.Exit(FAILED)


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
        shown = payload_text(hub.target.payload)
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
        hubs.add_row(str(hub.target.id), f"{hub.count:,}", payload_text(hub.target.payload))
    never = empty_table("id", "payload", title="Some that no other target finds")
    for named in corpus.never:
        never.add_row(str(named.id), payload_text(named.payload))
    alike = empty_table("targets", "ids", "payload of the first", title="Near-duplicates, the largest groups")
    for group in corpus.near_duplicates:
        ids = [str(named.id) for named in group]
        more = f" and {len(ids) - SHOWN_IDS:,} more" if len(ids) > SHOWN_IDS else ""
        alike.add_row(f"{len(ids):,}", ", ".join(ids[:SHOWN_IDS]) + more, payload_text(group[0].payload))
    return [corpus.uneven().rich(), *(table for table in (hubs, never, alike) if table.row_count)]
