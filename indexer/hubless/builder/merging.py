"""Merging what was written to a collection into its next version."""

from pathlib import Path

from hubless.builder.engines import prune
from hubless.builder.index import open_index
from hubless.progress import Progressing
from hubless.store.bundle import Manifest
from hubless.store.catalog import Catalog
from hubless.store.locks import lease


def merge(
    catalog: str | Path, collection: str, *, keep: int | None = None, progress: Progressing = None
) -> Manifest | None:
    """Build the next version from the current one and what was written since. Its offsets stay as they are.

    The service can serve and write meanwhile. It takes the new version as soon as that is there.

    Parameters
    ----------
    catalog : folder of the collections
    collection : its name, or an alias of it
    keep : how many of the newest versions to keep; None for all. Writes that all of them have leave the log
    progress : show progress bars; None does if standard error is a terminal. Or what is told of the steps

    Returns
    -------
    The manifest of the new version; None if nothing was written since.

    Raises
    ------
    CollectionNotFound
    JobRunning
        if another job changes the collection.
    InputError
        if no target is left.
    StorageError
        if the catalog cannot be written, or `LogDamaged` if the log cannot be read to its end.
    """
    home = Catalog(catalog)
    name = home.resolve(collection)
    home.current(name)
    with lease(home.path / name, "hubless merge"):
        index = open_index(home, name, lenient=True)
        made = None
        if index.seq > index.manifest.log_seq:
            made = index.save(catalog, name, progress=progress)
        if keep is not None:
            prune(home, name, keep)
        home.cut_log(name)
    return made
