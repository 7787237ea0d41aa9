"""A query bank that a collection is to be fitted on. It stays on the disk until a version has it.

    <catalog>/<collection>/bank/order.json    which file is the bank, and what to do with it
    <catalog>/<collection>/bank/<number>.npy  queries (b, d), as they were given

A file that `order.json` does not name is what a kill left, and means nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from hubless.errors import InputError, StorageError, collection_errors, one_line, storage_errors
from hubless.store.catalog import Catalog
from hubless.store.copies import copy_plain
from hubless.store.durable import held_still, locked, make_folder, now, replace_text, sync
from hubless.vectors.arrays import F32
from hubless.vectors.npy import read_npy, write_array

FOLDER, _ORDER, _LOCK = "bank", "order.json", ".lock"


class BankOrder(BaseModel):
    """A bank that waits. `number` only rises. `sampled`: live queries to wait for; `trusted`: see `read_sample`.

    `over` is the version that was current when it was given.
    `fit_by` is the payload column of the `groups` of the queries (b,); "" for one fit, None for that of the collection.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int = 0
    over: str | None = None
    append: bool
    fit: bool = True
    correction: str | None = None
    parameters: dict[str, Any] | None = None
    queries: int
    relevant: list[list[int | str] | None] | None = None
    fit_by: str | None = None
    groups: list[str] | None = None
    sampled: int | None = None
    trusted: list[str] | None = None


def give_bank(home: Path, queries: F32, *, since: int = 0, **fields: Any) -> BankOrder:
    """Keep queries (b, d) that a collection is to be fitted on. They are on the disk when this returns.

    With `append` they join those that wait. `since` is the number of the last order that a version has, `fields` are
    those of `BankOrder`. Raises `StorageError`; `CollectionNotFound` if the collection is deleted meanwhile;
    `InputError` if those that wait have groups of another column, or none.
    """
    folder = home / FOLDER
    current = Catalog(home.parent).named_current(home.name)
    order = BankOrder(queries=len(queries), over=current, **fields)
    with collection_errors(home):
        folder.mkdir(exist_ok=True)  # without its parents: they would be what is left of a deleted collection
        sync(home)
        with locked(folder / _LOCK):
            waiting = read_order(home)
            number = max(int(now().timestamp() * 1e6), since + 1, 0 if waiting is None else waiting.number + 1)
            changes: dict[str, Any] = {"number": number}
            if order.append and waiting is not None and waiting.sampled is None:
                changes |= _joined(waiting, order)
                queries = np.concatenate([_queries_of(folder, waiting), queries])
            write_array(folder / f"{number}.npy", queries)
            sync(folder / f"{number}.npy")
            sync(folder)
            order = order.model_copy(update=changes)
            replace_text(folder / _ORDER, order.model_dump_json())
            _remove_others(folder, order)
    return order


def _joined(waiting: BankOrder, order: BankOrder) -> dict[str, Any]:
    """Return the fields of an order that has the queries of one that waits, and then its own."""
    if (order.fit_by or "") != (waiting.fit_by or ""):
        expected = f"{waiting.fit_by!r}, as the queries that wait have" if waiting.fit_by else "none so far"
        raise InputError("fit_by", expected, order.fit_by or "none")
    relevant = order.relevant
    groups = order.groups
    if relevant is not None or waiting.relevant is not None:
        relevant = (waiting.relevant or [None] * waiting.queries) + (relevant or [None] * order.queries)
    return {
        "append": waiting.append,
        "queries": waiting.queries + order.queries,
        "correction": order.correction or waiting.correction,
        "parameters": order.parameters or waiting.parameters,
        "relevant": relevant,
        "groups": groups if groups is None else (waiting.groups or []) + groups,
    }


def read_order(home: Path) -> BankOrder | None:
    """Return the order that waits; None for none. Raises `StorageError` if it cannot be read."""
    path = f"{home}/{FOLDER}/{_ORDER}"  # a `Path` of each collection would cost more than the look
    with storage_errors(home):
        try:
            with open(path, "rb") as file:  # noqa: PTH123
                return BankOrder.model_validate_json(file.read())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except ValidationError as error:
            raise StorageError(path, f"it cannot be read ({one_line(error)}): put the bank again") from error


def read_bank(home: Path) -> tuple[BankOrder, F32] | None:
    """Return the order that waits, and its queries (b, d) as they were given; None for none. Raises `StorageError`."""
    with _waiting(home) as order:
        return None if order is None else (order, _queries_of(home / FOLDER, order))


def copy_bank(home: Path, new: Path, root: Path | None = None) -> None:
    """Copy the bank that waits, if there is one, to the folder of another collection. `root`: see `open_plain`."""
    folder, copy = home / FOLDER, new / FOLDER
    if (folder / _ORDER).exists():
        with collection_errors(home), held_still(folder / _LOCK) if root is None else nullcontext():
            with storage_errors(new):
                make_folder(copy)
            with suppress(FileNotFoundError):  # a version has it meanwhile
                copy_plain(folder / _ORDER, copy / _ORDER, root)
            if (order := read_order(new)) is not None:
                copy_plain(folder / f"{order.number}.npy", copy / f"{order.number}.npy", root)


def drop_order(home: Path, number: int) -> None:
    """Forget an order that was carried out or refused, unless another one took its place. Raises `StorageError`."""
    folder = home / FOLDER
    with _waiting(home) as order:
        if order is not None and order.number == number:
            (folder / _ORDER).unlink()
            sync(folder)
            _remove_others(folder, None)


@contextmanager
def _waiting(home: Path) -> Iterator[BankOrder | None]:
    folder = home / FOLDER
    with collection_errors(home):
        if not (folder / _ORDER).exists():
            yield None
            return
        with locked(folder / _LOCK):
            yield read_order(home)


def _queries_of(folder: Path, order: BankOrder) -> F32:
    try:
        return np.asarray(read_npy(folder / f"{order.number}.npy"), np.float32)
    except (OSError, ValueError, EOFError) as error:
        raise StorageError(folder, f"the bank cannot be read ({one_line(error)}): put it again") from error


def _remove_others(folder: Path, order: BankOrder | None) -> None:
    for path in folder.glob("*.npy"):
        if order is None or path.stem != str(order.number):
            path.unlink(missing_ok=True)
