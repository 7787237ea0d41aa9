"""The commands `bank`: what people ask, before it becomes a query bank. Parsing and printing only."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hubless.builder.banks.bank_review import Review, review
from hubless.builder.banks.payload_queries import payload_columns, payload_queries
from hubless.builder.banks.thinning import live_bank
from hubless.builder.inputs.raw_banks import sample_at
from hubless.cli.options import CatalogOption, CollectionOption, JsonOption, chosen_collection
from hubless.cli.printing import empty_table, facts, print_json, print_table
from hubless.corrections import correction as make_correction
from hubless.diagnosing.gallery import gallery_of
from hubless.search.collection import Collection
from hubless.store.draws import forget
from hubless.vectors.files import as_items
from hubless.vectors.sources import ArrayVectors, in_memory

NOT_GOOD = 4

LiveOption = Annotated[
    Path,
    typer.Option("--queries", metavar="PATH", help="Live queries: a folder of the query sample, or a file of vectors."),
]

bank_app = typer.Typer(
    name="bank",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Look at what people ask, before it becomes a query bank.

    Let the service keep a sample of live queries (HUBLESS_QUERY_SAMPLE). Then
    look at it, check it as a bank, and give it to `hubless build --query-bank`.
    docs/operations.md, "The query sample", shows each step.""",
)


@bank_app.command("show")
def show_command(queries: LiveOption, json_: JsonOption = False) -> None:
    """Show live queries: how many, how old, how often repeated, whose."""
    vectors, _ = _read(queries)
    sample = sample_at(queries)
    shown: dict[str, Any] = {"queries": len(vectors), "dim": vectors.shape[1]}
    clients: list[tuple[str, int]] = []
    if sample is None:
        shown["repeated"] = 1 - len(np.unique(vectors, axis=0)) / len(vectors)
    else:
        clients = Counter(sample.clients).most_common()
        shown |= {
            "collection": sample.collection,
            "asked": sample.seen,
            "begins": sample.begins.isoformat(),
            "ends": sample.ends.isoformat(),
            "files": len(sample.files),
            "asked_again": float(np.mean(sample.counts > 1)) if len(sample.counts) else 0.0,
        }
    if json_:
        shares = {name: count / len(vectors) for name, count in clients}
        print_json(shown if sample is None else shown | {"clients": shares})
        return
    # all fractions are shares
    said = {name: f"{100 * value:.1f} %" if isinstance(value, float) else f"{value}" for name, value in shown.items()}
    print_table(facts({name.replace("_", " "): value for name, value in said.items()}))
    if clients:
        table = empty_table("client", "queries", "share")
        for name, count in clients[:10]:
            table.add_row(name, f"{count:,}", f"{100 * count / len(vectors):.1f} %")
        print_table(table)


@bank_app.command("check")
def check_command(
    bank: Annotated[Path, typer.Option(metavar="PATH", help="The bank to check: what `build` takes as --query-bank.")],
    catalog: CatalogOption,
    collection: CollectionOption,
    live_queries: Annotated[
        Path | None, typer.Option(metavar="FILE", help="About 200 live queries that are not in the bank.")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Say if a bank is good for a collection, before you build.

    It is not if it covers too little, comes from another model, or makes the
    answers to fresh live queries less even than the version that is served.
    Without live queries nobody knows if people ask like the bank: a folder of
    the query sample has some of its own. It is thinned as `build` does it.
    Exit code 4 says that something speaks against the bank.
    """
    served = chosen_collection(catalog, collection)
    gallery = gallery_of(served)
    given, clients = _read(bank, served)
    queries = gallery.queries(given, "bank")
    fresh = None if live_queries is None else gallery.queries(_read(live_queries)[0], "live queries")
    left = None
    if clients is not None:
        vectors = in_memory(queries)
        made = live_bank(vectors, gallery.targets, clients, fresh=fresh is None)
        queries, left = ArrayVectors(vectors[made.rows], "bank"), made.thinned.note("the bank")
        if len(made.fresh):
            fresh = ArrayVectors(vectors[made.fresh], "live queries")
    found = review(
        queries,
        gallery.targets,
        gallery.metric,
        make_correction("auto", metric=gallery.metric),
        fresh,
        served.offsets if served.parts.is_folded else None,
    )
    if json_:
        print_json(asdict(found) | {"thinned": left})
    else:
        if left is not None:
            typer.echo(f"{left}.")
        _print_review(found)
    if not found.good:
        raise typer.Exit(NOT_GOOD)


@bank_app.command("forget")
def forget_command(
    queries: Annotated[Path, typer.Option("--queries", metavar="DIR", help="A folder of the query sample.")],
    client: Annotated[str | None, typer.Option(metavar="NAME", help="Delete the queries of this client.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Delete all of them.")] = False,
    json_: JsonOption = False,
) -> None:
    """Delete live queries and clicks from the sample. The service may run meanwhile.

    `hubless bank show` names the clients. Queries that the service has not
    written yet, of the last 15 seconds, come after that.
    """
    if (client is None) != all_:
        raise typer.BadParameter("give either --client or --all", param_hint="--client")
    gone = forget(queries, client)
    if json_:
        print_json({"deleted": gone})
    else:
        typer.echo(f"queries and clicks deleted: {gone:,}")


def _read(path: Path, collection: Collection | None = None) -> tuple[Any, tuple[str, ...] | None]:
    """Return queries, and of those that people asked the client of each. A collection has texts that may be queries."""
    if collection is not None and (columns := payload_columns(path)) is not None:
        return payload_queries(collection, columns), ()
    if (sample := sample_at(path)) is not None:
        return sample.vectors, sample.clients
    return in_memory(as_items(path, "queries").vectors), None


def _print_review(found: Review) -> None:
    record = found.record
    chosen = found.chosen
    rows = {
        "queries": f"{record.queries:,}",
        "coverage": "" if record.coverage is None else f"{100 * record.coverage:.0f} %",
        "repeated": f"{100 * record.repeated:.0f} %",
        "fresh live queries": "" if chosen is None else f"{chosen.different:,} different of {chosen.queries:,}",
        "strength they speak for": "" if chosen is None else f"{chosen.strength:g}",
    }
    print_table(facts(rows))
    _print_all("Against it", found.against)
    _print_all("Also", found.notes)
    typer.echo("The bank is good." if found.good else "Do not publish a version with this bank.")


def _print_all(heading: str, sentences: Sequence[str]) -> None:
    if sentences:
        typer.echo(f"{heading}: " + " ".join(sentences))
