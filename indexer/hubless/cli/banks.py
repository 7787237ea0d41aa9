"""The commands for query banks. Parsing and printing only."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hubless.builder.banks.bank_checks import mix
from hubless.builder.banks.bank_review import Review, review
from hubless.builder.banks.payload_queries import payload_queries
from hubless.builder.banks.thinning import held_out, thin
from hubless.cli.options import (
    CatalogOption,
    CollectionOption,
    JsonOption,
    SetOption,
    chosen_collection,
    parameters_of,
    read_settings,
)
from hubless.cli.printing import empty_table, facts, print_json, print_table, warn
from hubless.corrections import correction as make_correction
from hubless.errors import storage_errors
from hubless.lab.gallery import gallery_of
from hubless.search.collection import Collection
from hubless.store.durable import replaced
from hubless.store.query_sample import QuerySample, forget, holds_sample, read_sample
from hubless.vectors.arrays import F32
from hubless.vectors.files import as_items
from hubless.vectors.sources import ArrayVectors, VectorSource, in_memory

NOT_GOOD = 4
_MIXED: dict[str, Any] = {"share": float, "size": int, "seed": int, "fresh": Path}
_DEFAULTS: dict[str, Any] = {"share": 0.9, "size": None, "seed": 0, "fresh": None}

_PAYLOAD = "payload:"
_LIVE = "Live queries: a folder of the query sample, or a file of vectors; `thin` takes payload:COLUMN,… too."

LiveOption = Annotated[Path, typer.Option("--queries", metavar="PATH", help=_LIVE)]

bank_app = typer.Typer(
    name="bank",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Make query banks of what people ask.

    Let the service keep a sample of live queries (HUBLESS_QUERY_SAMPLE). Then
    look at it, make a bank of it, perhaps mixed with the bank you have, check it,
    and build with it. docs/operations.md, "The query sample", shows each step.""",
)


@bank_app.command("show")
def show_command(queries: LiveOption, json_: JsonOption = False) -> None:
    """Show live queries: how many, how old, how often repeated, whose."""
    vectors, sample = _read(queries)
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


@bank_app.command("thin")
def thin_command(
    queries: LiveOption,
    catalog: CatalogOption,
    collection: CollectionOption,
    output: Annotated[Path, typer.Option(metavar="FILE", help="Write the bank here, as .npy.")],
    bank: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Mix it with the bank you have, drawn at random from both.")
    ] = None,
    set_: SetOption = None,
    json_: JsonOption = False,
) -> None:
    """Make a bank of live queries.

    What many people ask counts once, or the correction would push down what
    they rightly want. No client has more than its share. Queries far from all
    targets are left out. Without a log of queries, --queries payload:title,caption
    encodes what the targets are called. With --set fresh=FILE up to 200 queries stay out of
    it: they tell `hubless bank check` and `hubless build` if it is good.

    With --bank, live queries make up the share of the new bank that --set
    share=0.9 says. From 500 live queries on 0.9 is right if the old bank is
    narrow. With fewer, or with a good old bank, take 0.5.
    """
    values = read_settings(set_, {**parameters_of(thin, skip=("queries", "targets", "clients")), **_MIXED})
    share, size, seed, fresh = (values.pop(name, default) for name, default in _DEFAULTS.items())
    gallery = gallery_of(chosen_collection(catalog, collection))
    given, sample = _read(queries, gallery.collection)
    vectors = in_memory(gallery.queries(given, "queries"))
    rows = np.arange(len(vectors))
    others = np.arange(0)
    if fresh is not None:
        rows, others = held_out(len(vectors), seed, sample.clients if sample else None)
    clients = [sample.clients[row] for row in rows.tolist()] if sample else None
    thinned = thin(vectors[rows], gallery.targets, clients, **values)
    made = vectors[rows[thinned.rows]]
    if bank is not None:
        parts: list[tuple[VectorSource, float]] = [(ArrayVectors(made, "live queries"), share)]
        if share != 1:
            parts.insert(0, (gallery.queries(bank, "bank"), 1 - share))
        made = mix(parts, size, seed)
    _save(output, gallery.restored(made))
    if fresh is not None:
        _save(fresh, gallery.restored(vectors[others]))
    counts = {
        "given": len(vectors),
        "kept": len(thinned.rows),
        "near_duplicates": len(thinned.near_duplicates),
        "over_the_share_of_a_client": len(thinned.capped),
        "outliers": len(thinned.outliers),
        "fresh": len(others),
        "queries": len(made),
    }
    if json_:
        print_json(counts | {"output": str(output), "outlier_rows": rows[thinned.outliers].tolist()})
        return
    print_table(facts({name.replace("_", " "): f"{count:,}" for name, count in counts.items()}))
    typer.echo(f"wrote {output}: {len(made):,} queries")


@bank_app.command("check")
def check_command(
    bank: Annotated[Path, typer.Option(metavar="FILE", help="The bank to check.")],
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
    Without live queries nobody knows if people ask like the bank. Exit code
    4 says that something speaks against it.
    """
    served = chosen_collection(catalog, collection)
    gallery = gallery_of(served)
    fresh = None if live_queries is None else gallery.queries(_read(live_queries)[0], "live queries")
    found = review(
        gallery.queries(bank, "bank"),
        gallery.targets,
        gallery.metric,
        make_correction("auto", metric=gallery.metric),
        fresh,
        served.offsets if served.parts.is_folded else None,
    )
    if json_:
        print_json(asdict(found))
    else:
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
    """Delete live queries from the sample. The service may run meanwhile.

    `hubless bank show` names the clients. Queries that the service has not
    written yet, of the last 15 seconds, come after that.
    """
    if (client is None) != all_:
        raise typer.BadParameter("give either --client or --all", param_hint="--client")
    gone = forget(queries, client)
    if json_:
        print_json({"deleted": gone})
    else:
        typer.echo(f"deleted {gone:,} {'query' if gone == 1 else 'queries'}")


def _read(path: Path, collection: Collection | None = None) -> tuple[F32, QuerySample | None]:
    name = str(path)
    if name.startswith(_PAYLOAD) and collection is not None:
        return payload_queries(collection, name.removeprefix(_PAYLOAD).split(",")), None
    if not holds_sample(path):
        return in_memory(as_items(path, "queries").vectors), None
    sample = read_sample(path)
    for file, why in sample.skipped.items():
        warn(f"{file} is left out: it is {why}")
    return sample.vectors, sample


def _save(path: Path, rows: Any) -> None:
    if path.suffix != ".npy":
        raise typer.BadParameter("expected a file ending in .npy", param_hint=str(path))
    with storage_errors(path), replaced(path) as new, new.open("wb") as file:
        np.save(file, rows)


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
