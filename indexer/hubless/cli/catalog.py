"""Commands that manage the collections of a catalog. Parsing and printing only."""

from pathlib import Path
from typing import Annotated

import typer

from hubless.builder.backup import back_up, restore
from hubless.builder.exporting import export
from hubless.builder.lifecycle import merge
from hubless.builder.pipeline.engines import delete, prune, tell_engine
from hubless.builder.verification import Verdict, verify_catalog
from hubless.cli.options import CatalogOption, CollectionOption, JsonOption
from hubless.cli.printing import empty_table, print_item, print_json, print_table
from hubless.store.addressed import managed
from hubless.store.catalog import Catalog

OnlyOption = Annotated[
    list[str] | None, typer.Option("--collection", metavar="NAME", help="Only this one; repeatable. All without.")
]
FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the backup.", show_default=False)]
SkipOption = Annotated[list[str] | None, typer.Option("--skip", metavar="NAME", help="Leave this one out; repeatable.")]


def list_command(catalog: CatalogOption, json_: JsonOption = False) -> None:
    """List collections and their versions."""
    home = managed(catalog)
    found = {name: home.versions(name) for name in home.collections()}
    if json_:
        print_json(
            {
                name: [{"version": v.id, "current": v.current, "problem": v.problem} for v in found[name]]
                for name in found
            }
        )
        return
    table = empty_table("collection", "version", "", "targets", "correction", "index")
    table.columns[1].no_wrap = True  # so that it can be copied
    problems = []
    for name, known_versions in found.items():
        for version in known_versions:
            known = version.manifest
            cells = ["", "refused", ""]
            if known:
                cells = [str(known.count), known.correction.name, known.index.type]
            elif version.problem:
                # without the path to the version, which is longer than a terminal is wide
                problems.append(f"{name}, version {version.id}: {version.problem.rpartition(f'{version.id}/')[2]}")
            table.add_row(name, version.id, "✓" if version.current else "", *cells)
    print_table(table)
    for problem in problems:
        print_item(problem)


def rollback_command(
    catalog: CatalogOption,
    collection: CollectionOption,
    version: Annotated[
        str | None, typer.Option("--version", metavar="ID", help="Version to take; by default the one before.")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Make an earlier version current again."""
    home = managed(catalog)
    current = home.rollback(collection, version)
    for each in home.versions(collection):
        if each.current and each.manifest is not None:
            tell_engine(each.manifest)
    if json_:
        print_json({"collection": collection, "version": current})
    else:
        typer.echo(current)


def alias_command(
    catalog: CatalogOption,
    alias: Annotated[str | None, typer.Argument(metavar="ALIAS", help="Alias to set or remove.")] = None,
    collection: Annotated[
        str | None, typer.Argument(metavar="COLLECTION", help="Collection that it stands for.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove it.")] = False,
    json_: JsonOption = False,
) -> None:
    """List, set or remove aliases, other names of collections.

    \b
    Example:
      hubless alias --catalog catalog latest photos
    """
    if (collection is not None or remove) != (alias is not None) or (remove and collection is not None):
        raise typer.BadParameter("needs either a COLLECTION or --remove", param_hint="ALIAS")
    home = managed(catalog)
    if alias is not None:
        home.remove_alias(alias) if collection is None else home.set_alias(alias, collection)
    found = {known: standing.collection for known, standing in home.aliases().items()}
    if json_:
        print_json(found)
        return
    table = empty_table("alias", "collection")
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
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json_: JsonOption = False,
) -> None:
    """Delete a collection with its versions and writes.

    Remove the aliases that stand for it first.
    """
    home = Catalog(catalog)
    if not yes:
        home.current(collection)
        typer.confirm(f"Delete collection {collection} with all its versions?", abort=True, err=True)
    delete(home, collection)
    if json_:
        print_json({"collection": collection})


def merge_command(catalog: CatalogOption, collection: CollectionOption, json_: JsonOption = False) -> None:
    """Build the next version, with what was written.

    It begins with the current one. The service can serve and write meanwhile. Without writes nothing is built.
    """
    made = merge(catalog, collection)
    if json_:
        print_json({"built": made is not None, "version": made and made.version, "log_seq": made and made.log_seq})
    elif made is None:
        typer.echo("nothing was written since the current version was built")
    else:
        typer.echo(f"{made}, with the writes up to {made.log_seq}")


def backup_command(
    folder: FolderArgument,
    catalog: CatalogOption,
    collection: OnlyOption = None,
    skip: SkipOption = None,
    json_: JsonOption = False,
) -> None:
    """Copy a catalog into a new folder, and verify the copy.

    The service can serve, write and merge meanwhile. Each collection is copied as it is
    at one moment. What is damaged is left out and named, and the exit code is 1.
    """
    verdict = back_up(Catalog(catalog), folder, only=collection or (), skip=skip or ())
    _end_with(verdict, "backed up", json_)


def export_command(
    catalog: Annotated[Path, typer.Argument(metavar="CATALOG", help="Folder that holds collections.")],
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="New folder for the files.")],
    json_: JsonOption = False,
) -> None:
    """Write ids, vectors and payload of any catalog as files.

    The writes since are in them. Takes older catalogs, too: build them again of these.

    \b
    Example:
      hubless export catalog --to files
    """
    counts = export(catalog, to)
    if json_:
        print_json(counts)
        return
    for name, count in counts.items():
        typer.echo(f"{name}: {count:,} targets")


def restore_command(
    folder: FolderArgument,
    catalog: CatalogOption,
    collection: OnlyOption = None,
    skip: SkipOption = None,
    json_: JsonOption = False,
) -> None:
    """Copy the collections of a backup into a catalog, verified.

    The catalog may be new. It must not have a collection of the same name. What is
    damaged is left out and named, and the exit code is 1.
    """
    verdict = restore(folder, Catalog(catalog), only=collection or (), skip=skip or ())
    _end_with(verdict, "restored", json_)


def verify_command(catalog: CatalogOption, json_: JsonOption = False) -> None:
    """Verify all collections: files, index, offsets, log and aliases.

    The service can serve and write meanwhile. Exit code 1 says that something is wrong.
    """
    _end_with(verify_catalog(Catalog(catalog)), "sound", json_)


def _end_with(verdict: Verdict, done: str, json_: bool) -> None:
    """Print a verdict, and end with 1 if something is wrong. A copy has what is sound, also beside what is not."""
    if json_:
        print_json(verdict.as_json())
    elif verdict.sound or done != "sound":
        for name, seq in verdict.writes.items():
            typer.echo(f"{name}: {done}, with the writes up to {seq:,}")
        typer.echo(f"{len(verdict.writes)} collections, {verdict.versions} versions: {done}")
    for each in () if json_ else verdict.problems:
        typer.echo(f"{each.collection}{f', version {each.version}' if each.version else ''}: {each.problem}")
    if not verdict.sound:
        raise typer.Exit(1)
