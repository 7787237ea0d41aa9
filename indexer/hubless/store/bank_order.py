"""A query bank that a collection is to be fitted on. It stays on the disk until a version has it.

    <catalog>/<collection>/bank/order.json    which files are the bank, and what to do with them
    <catalog>/<collection>/bank/<number>.npy  queries (b, d), as they were given

A file that `order.json` does not name is what a kill left, and means nothing.
"""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from hubless.errors import StorageError, one_line, storage_errors
from hubless.store.durable import locked, make_folder, now, replace_text, sync
from hubless.vectors.arrays import F32
from hubless.vectors.npy import read_npy, write_array

FOLDER, _ORDER, _LOCK = "bank", "order.json", ".lock"


class BankOrder(BaseModel):
    """What is to be done.

    Attributes
    ----------
    number : higher than that of all orders before
    append : whether the queries go to the bank that the collection has; else they replace it
    fit : whether to begin; otherwise more queries are to come
    correction, parameters : to fit; None for that of the collection, or `auto` if that is `none`
    files, queries : of the queries that were given
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    append: bool
    fit: bool
    correction: str | None
    parameters: dict[str, Any] | None
    files: list[str]
    queries: int


def give_bank(
    home: Path,
    queries: F32,
    *,
    append: bool,
    fit: bool = True,
    correction: str | None = None,
    parameters: dict[str, Any] | None = None,
    since: int = 0,
) -> BankOrder:
    """Keep queries (b, d) that a collection is to be fitted on. They are on the disk when this returns.

    Parameters
    ----------
    home : folder of the collection
    append : whether to add them to those that wait, and to the bank that the collection has
    since : the number of the last order that a version has

    Raises
    ------
    StorageError
    """
    folder = home / FOLDER
    with storage_errors(folder):
        make_folder(folder)
        with locked(folder / _LOCK):
            waiting = read_order(home)
            number = max(int(now().timestamp() * 1e6), since + 1, 0 if waiting is None else waiting.number + 1)
            file = f"{number}.npy"
            write_array(folder / file, queries)
            sync(folder / file)
            sync(folder)
            kept = waiting if append else None
            order = BankOrder(
                number=number,
                append=append if kept is None else kept.append,
                fit=fit,
                correction=kept.correction if kept and correction is None else correction,
                parameters=kept.parameters if kept and parameters is None else parameters,
                files=[*(kept.files if kept else ()), file],
                queries=len(queries) + (kept.queries if kept else 0),
            )
            replace_text(folder / _ORDER, order.model_dump_json())
            _remove_others(folder, order.files)
    return order


def read_order(home: Path) -> BankOrder | None:
    """What is to be done; None for nothing.

    Raises
    ------
    StorageError
        if it cannot be read.
    """
    path = home / FOLDER / _ORDER
    with storage_errors(path):
        try:
            return BankOrder.model_validate_json(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except ValidationError as error:
            raise StorageError(path, f"it cannot be read ({one_line(error)}): put the bank again") from error


def read_bank(home: Path) -> tuple[BankOrder, F32] | None:
    """What is to be done, and the queries (b, d) as they were given; None for nothing.

    Raises
    ------
    StorageError
    """
    folder = home / FOLDER
    with storage_errors(folder):
        if not (folder / _ORDER).exists():
            return None
        with locked(folder / _LOCK):  # so that nobody replaces the files meanwhile
            if (order := read_order(home)) is None:
                return None
            try:
                return order, np.concatenate([np.asarray(read_npy(folder / file), np.float32) for file in order.files])
            except (OSError, ValueError, EOFError) as error:
                raise StorageError(folder, f"the bank cannot be read ({one_line(error)}): put it again") from error


def copy_bank(home: Path, new: Path) -> None:
    """Copy the bank that waits, if there is one, to the folder of another collection."""
    folder = home / FOLDER
    with storage_errors(folder):
        if (folder / _ORDER).exists():
            with locked(folder / _LOCK):
                shutil.copytree(folder, new / FOLDER, ignore=shutil.ignore_patterns(_LOCK), dirs_exist_ok=True)


def drop_order(home: Path, number: int) -> None:
    """Forget an order that was carried out or refused, unless another one took its place.

    Raises
    ------
    StorageError
    """
    folder = home / FOLDER
    with storage_errors(folder):
        if not (folder / _ORDER).exists():
            return
        with locked(folder / _LOCK):
            waiting = read_order(home)
            if waiting is not None and waiting.number == number:
                (folder / _ORDER).unlink()
                sync(folder)
                _remove_others(folder, [])


def _remove_others(folder: Path, files: list[str]) -> None:
    for path in folder.glob("*.npy"):
        if path.name not in files:
            path.unlink(missing_ok=True)
