"""Commands that build and manage collections. Parsing and printing only."""

import json
import shlex
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import hubless
from hubless.builder.executors import LOCAL
from hubless.builder.pipeline.engines import delete, follow, prune
from hubless.builder.recipe import FAISS, read_correction, read_strength
from hubless.cli.completion import aliases, collections, one_of, versions
from hubless.cli.curve import curve_table
from hubless.cli.options import (
    BankOfTargetsOption,
    CatalogOption,
    CollectionOption,
    JsonOption,
    LiveQueriesOption,
    MetricOption,
    VersionOption,
    key_values,
    listed,
)
from hubless.cli.printing import beside_chance, facts, print_json, print_table, table_of, warn
from hubless.corrections import CORRECTIONS
from hubless.corrections import correction as make_correction
from hubless.errors import InputError
from hubless.kernels.devices import CPU
from hubless.knn import INDEXES
from hubless.knn.aims import RECALL
from hubless.lab.bank_drift import bank_drift
from hubless.measures.projection import PCA
from hubless.search.engines.external import engine, engine_names
from hubless.store.bundle import PriorRecord, StrengthRecord
from hubless.store.remote.working import managed
from hubless.vectors.payload_text import TYPES

_INDEXES = ("auto", *INDEXES)
_DEFAULT_CORRECTION = "auto"
EXAMPLE = 40
"""Characters of an example of payload."""


def _one_of(names: Collection[str]) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value not in names:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(names)}")
        return value

    return check


def _known_engine(name: str) -> str:
    if name != FAISS and name not in engine_names():
        raise typer.BadParameter(f"{name!r} is not installed: pip install hubless-{name}")
    return name


def _known_index(name: str) -> str:
    if name not in _INDEXES and not any(name in engine(each).indexes for each in engine_names()):
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(_INDEXES)}, and of no engine")
    return name


def build_command(
    catalog: CatalogOption,
    collection: CollectionOption,
    targets: Annotated[Path, typer.Option(metavar="FILE", help="What can be found: .npy, .npz, .parquet or a folder.")],
    query_bank: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Example queries, such as past ones; --correction none does without."),
    ] = None,
    target_bank: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Extra targets, such as training items.")
    ] = None,
    ids: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ids of the targets: .npy, .txt or .parquet.")
    ] = None,
    payload: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Payload of the targets: .parquet, .jsonl or .csv.")
    ] = None,
    payload_schema: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=TYPE", help="Type of a payload column; repeatable.")
    ] = None,
    encoder: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Turns texts into vectors: a folder, or a .json or .toml file.")
    ] = None,
    metric: MetricOption = "cosine",
    correction: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            callback=_one_of(CORRECTIONS),
            autocompletion=one_of(CORRECTIONS),
            help=f"How hubness is removed: {listed(CORRECTIONS)}.",
        ),
    ] = _DEFAULT_CORRECTION,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the correction; repeatable.")
    ] = None,
    correction_from: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Take correction, parameters and strength from a file that `tune` wrote."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            callback=_known_engine,
            autocompletion=one_of((FAISS,)),
            help="What holds and searches the vectors: faiss, or an engine that is installed.",
        ),
    ] = FAISS,
    index: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            callback=_known_index,
            autocompletion=one_of(_INDEXES),
            help=f"Kind of index: {listed(_INDEXES)}; engines have others.",
        ),
    ] = "auto",
    recall: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the exact top 10 that the index must find.")
    ] = RECALL,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory that the index may take, such as 4GB.")
    ] = None,
    latency: Annotated[
        str | None, typer.Option(metavar="TIME", help="Time of a single query on one thread, such as 2ms.")
    ] = None,
    shard_targets: Annotated[
        int | None,
        typer.Option(metavar="N", help="Most targets in one file of the index; more get several. By default 4 GiB."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of what is held out and trained.")] = 0,
    live_queries: LiveQueriesOption = None,
    target_prior: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|COLUMN", help="How often each target should be found: .npy, .txt or payload column."
        ),
    ] = None,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="Computes offsets: cpu, or with torch cuda, cuda:1 or torch:NAME.")
    ] = CPU,
    executor: Annotated[
        str,
        typer.Option(metavar="NAME", help="Makes passes over all targets: local, processes:N, ray or ray://HOST:PORT."),
    ] = LOCAL,
    projection: Annotated[
        str, typer.Option(metavar="NAME", help="Of the map in the console: pca, or umap, which needs the extra umap.")
    ] = PCA,
    bank_of_targets: BankOfTargetsOption = False,
    replace_writes: Annotated[
        bool, typer.Option("--replace-writes", help="The targets have all that was written to the collection.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """Build a new version of a collection and make it current.

    \b
    Example:
      hubless build --catalog catalog --collection photos \\
          --targets images.npy --query-bank captions.npy
    """
    parameters = _parameters(correction, set_ or [])
    strength = None
    if correction_from is not None:
        if parameters or correction != _DEFAULT_CORRECTION:
            raise typer.BadParameter("cannot be combined with --correction or --set", param_hint="--correction-from")
        correction, parameters = read_correction(correction_from)
        strength = read_strength(correction_from) if live_queries is None else None
    manifest = hubless.build(
        catalog,
        collection,
        targets,
        query_bank,
        target_bank=target_bank,
        ids=ids,
        payload=payload,
        payload_schema=dict(_typed_columns(payload_schema or [])),
        encoder=encoder,
        metric=metric,
        correction=correction,
        parameters=parameters,
        engine=engine,
        index=index,
        recall=recall,
        memory=memory,
        latency=latency,
        shard_targets=shard_targets,
        seed=seed,
        device=device,
        executor=executor,
        projection=projection,
        bank_of_targets=bank_of_targets,
        live_queries=live_queries,
        target_prior=target_prior,
        strength=strength,
        replace_writes=replace_writes,
    )
    if json_:
        print_json(manifest.model_dump(mode="json"))
    else:
        print_table(facts({name: said for name, said in _facts(manifest).items() if name not in _INTERNAL}))
        _print_payload(hubless.open(catalog, collection, version=manifest.version, hashes=False))
        if manifest.bank is None:
            typer.echo("Nothing is corrected yet: let the service keep a sample of live queries")
            typer.echo("(HUBLESS_QUERY_SAMPLE), then build again with them as --query-bank.")
        where = shlex.join(["--catalog", str(catalog)])
        typer.echo(f"Serve it:      hubless serve {where}")
        typer.echo(f"All figures:   hubless inspect {where} --collection {collection}")


def inspect_command(
    catalog: CatalogOption,
    collection: CollectionOption,
    version: VersionOption = None,
    queries: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Recent queries: are they still like the query bank?")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Verify a version and show what was measured."""
    opened = hubless.open(catalog, collection, version=version)
    opened.check_canaries()
    for note in opened.manifest.notes:
        warn(note)
    drift = None if queries is None else bank_drift(opened, queries)
    manifest = opened.manifest
    if json_:
        print_json(manifest.model_dump(mode="json") | ({} if drift is None else {"drift": drift._asdict()}))
        return
    _print_manifest(manifest)
    _print_payload(opened)
    if drift is not None:
        typer.echo(f"Drift of {drift.queries:,} queries from the query bank: {drift.drift:.1f} (1: border of chance).")
        if drift.advice:
            warn(drift.advice)


def list_command(
    catalog: CatalogOption,
    collection: Annotated[
        str | None, typer.Option(metavar="NAME", help="List only this collection.", autocompletion=collections)
    ] = None,
    json_: JsonOption = False,
) -> None:
    """List collections and their versions."""
    found = _found_versions(catalog, collection)
    if json_:
        print_json(
            {
                name: [{"version": v.id, "current": v.current, "problem": v.problem} for v in found[name]]
                for name in found
            }
        )
        return
    table = table_of("collection", "version", "", "targets", "correction", "index", texts=["collection", "correction"])
    for name, known_versions in found.items():
        for version in known_versions:
            known = version.manifest
            cells = (
                [str(known.count), known.correction.name, known.index.type]
                if known
                else ["", f"damaged: {version.problem}", ""]
            )
            table.add_row(name, version.id, "✓" if version.current else "", *cells)
    print_table(table)


def rollback_command(
    catalog: CatalogOption,
    collection: CollectionOption,
    version: Annotated[
        str | None,
        typer.Option(
            "--version", metavar="ID", help="Version to take; by default the one before.", autocompletion=versions
        ),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Make an earlier version current again."""
    home = managed(catalog)
    current = home.rollback(collection, version)
    for each in home.versions(collection):
        if each.current and each.manifest is not None:
            follow(each.manifest)
    if json_:
        print_json({"collection": collection, "version": current})
    else:
        typer.echo(current)


def alias_command(
    catalog: CatalogOption,
    name: Annotated[
        str | None,
        typer.Option(
            "--alias",
            metavar="NAME",
            help="Alias to set or remove; without it all are listed.",
            autocompletion=aliases,
        ),
    ] = None,
    collection: Annotated[
        str | None, typer.Option(metavar="NAME", help="Collection that it stands for.", autocompletion=collections)
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove it.")] = False,
    json_: JsonOption = False,
) -> None:
    """List, set or remove aliases, other names of collections."""
    if (collection is not None or remove) != (name is not None) or (remove and collection is not None):
        raise typer.BadParameter("needs either --collection or --remove", param_hint="--alias")
    home = managed(catalog)
    if name is not None and collection is not None:
        home.set_alias(name, collection)
    elif name is not None:
        home.remove_alias(name)
    found = {known: standing.collection for known, standing in home.aliases().items()}
    if json_:
        print_json(found)
        return
    table = table_of("alias", "collection", texts=["alias", "collection"])
    for known, standing_for in found.items():
        table.add_row(known, standing_for)
    print_table(table)


def prune_command(
    catalog: CatalogOption,
    collection: CollectionOption,
    keep: Annotated[int, typer.Option(min=1, metavar="N", help="How many of the newest versions to keep.")] = 2,
    json_: JsonOption = False,
) -> None:
    """Delete old versions, but never the current one.

    Prints the ids of the deleted versions.
    """
    deleted = prune(managed(catalog), collection, keep)
    if json_:
        print_json({"collection": collection, "deleted": deleted})
        return
    for version in deleted:
        typer.echo(version)


def delete_command(
    catalog: CatalogOption,
    collection: CollectionOption,
    with_aliases: Annotated[
        bool, typer.Option("--aliases", help="Remove the aliases that stand for it, too; refused otherwise.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json_: JsonOption = False,
) -> None:
    """Delete a collection with its versions and writes."""
    home = managed(catalog)
    if not yes:
        home.current(collection)
        typer.confirm(f"Delete collection {collection} with all its versions?", abort=True, err=True)
    delete(home, collection, aliases=with_aliases)
    if json_:
        print_json({"collection": collection})


def _found_versions(catalog: Path, collection: str | None) -> dict[str, list[hubless.VersionInfo]]:
    home = managed(catalog)
    return {name: home.versions(name) for name in (home.collections() if collection is None else [collection])}


def _typed_columns(settings: list[str]) -> Iterator[tuple[str, str]]:
    for setting in settings:
        name, separator, kind = setting.rpartition("=")
        if not separator or kind not in TYPES:
            expected = f"COLUMN=TYPE, the type one of {listed(TYPES)}"
            raise typer.BadParameter(f"expected {expected}, got {setting}", param_hint="--payload-schema")
        yield name, kind


def _parameters(correction: str, settings: list[str]) -> dict[str, Any]:
    parameters = key_values(settings, "--set")
    try:
        make_correction(correction, parameters)
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint="--set") from error
    return parameters


_INTERNAL = ("fitted", "recall@10", "skewness of N_10")
"""What `inspect` shows and a build leaves out."""


def _print_manifest(manifest: hubless.Manifest) -> None:
    print_table(facts(_facts(manifest)))
    if len(manifest.index.curve) > 1:
        print_table(curve_table(manifest.index), names=2)


def _facts(manifest: hubless.Manifest) -> dict[str, str]:
    return {
        "collection": manifest.collection,
        "version": manifest.version,
        "targets": f"{manifest.count:,} of {manifest.dim} dimensions, {manifest.metric}",
        "correction": f"{manifest.correction.name} {_settings(manifest.correction.parameters)}".strip(),
        "fitted": _fitted(manifest),
        "target prior": _prior(manifest.target_prior),
        "strength": f"{manifest.strength:g}{_chosen_by(manifest.strength_choice)}",
        "index": " ".join(filter(None, [manifest.index.type, _settings(manifest.index.parameters), _shards(manifest)])),
        "note": "; ".join(manifest.index.notes),
        **_measured(manifest),
        "payload": ", ".join(manifest.payload_columns) or "none",
        "text queries": "yes" if manifest.encoder else "no",
        "size": f"{sum(record.size for record in manifest.files.values()) / 1e6:,.1f} MB",
    }


def _shards(manifest: hubless.Manifest) -> str:
    count = len(manifest.index.shards)
    return f"in {count} shards" if count else ""


def _measured(manifest: hubless.Manifest) -> dict[str, str]:
    if (measured := manifest.measured) is None:
        return {"measured with": "nothing, as there was no query bank"}
    queries = f"{measured.queries:,} {'held-out ' if measured.held_out else ''}bank queries"
    if measured.held_out and measured.fitted_queries is not None:
        queries += f", and a fit on the other {measured.fitted_queries:,}"
    return {
        "measured with": queries,
        "bank covers": _coverage(manifest),
        "recall@10": f"{measured.recall_at_10:.3f} against exact search",
        "skewness of N_10": beside_chance(measured, lambda hubness: f"{hubness.skewness:.2f}"),
        "most found": beside_chance(measured, lambda hubness: f"{hubness.most:,}"),
        "never found": beside_chance(measured, lambda hubness: f"{hubness.antihubs:.1%}"),
    }


def _prior(prior: PriorRecord | None) -> str:
    if prior is None:
        return ""
    source = "" if prior.column is None else f"payload column {prior.column}, "
    return f"{source}{prior.smallest:g} to {prior.largest:g}, median {prior.median:g}"


def _coverage(manifest: hubless.Manifest) -> str:
    if manifest.bank is None or manifest.bank.coverage is None:
        return ""
    return f"{manifest.bank.coverage:.0%} of the targets"


def _fitted(manifest: hubless.Manifest) -> str:
    """What the fit chose, and that it is one on all of the bank, where that is so."""
    details = _settings(manifest.correction.details)
    if manifest.bank is None or manifest.measured is None or manifest.measured.fitted_queries is None:
        return details
    return "; ".join(part for part in (f"on all {manifest.bank.queries:,} bank queries", details) if part)


def _chosen_by(choice: StrengthRecord | None) -> str:
    """How the default strength came about, and the evidence."""
    if choice is None:
        return ", the default of a query"  # also where a file of `tune` or a caller has set it
    evenness = ", ".join(f"{at:g}: {value:.2f}" for at, value in zip(choice.strengths, choice.entropy, strict=True))
    return f", by {choice.different:,} different live queries (entropy of N_10 at {evenness})"


def _print_payload(collection: hubless.Collection) -> None:
    """The columns of the payload: name, type, and the first target's value."""
    if not collection.payload_types or not collection.count:
        return
    table = table_of("payload", "type", "example", texts=["payload", "type", "example"])
    (first,) = collection.payload([0])
    for name, kind in collection.payload_types.items():
        example = json.dumps((first or {}).get(name), ensure_ascii=False, default=str)
        table.add_row(name, kind, example if len(example) <= EXAMPLE else example[: EXAMPLE - 1] + "…")
    print_table(table)


def _settings(values: dict[str, Any]) -> str:
    shown = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in values.items()}
    return ", ".join(f"{key} {value}" for key, value in shown.items())
