"""Corrections of scores that a catalog keeps by name. Each is a file, so what one process puts, all others see at once.

<catalog>/.scores/<name>.arrow     what `ScoreCorrection.save` writes, replaced atomically
<catalog>/.scores/<name>.learned   what one learns from: see `LearnedLists`
<catalog>/.scores/.lock            held while one is put or deleted, or lists are added
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hubless.errors import InputError, ScoresNotFound, StorageError, storage_errors
from hubless.scores.score_correction import ARROW_ENDING, ScoreCorrection
from hubless.search.kept_scores.learned_lists import AskedList, LearnedLists, PutLists
from hubless.store.draws import LOCK, Salt
from hubless.store.durable import locked, make_folder, replaced, sync
from hubless.store.names import check_name, is_name
from hubless.store.notes import HeldFile
from hubless.vectors.plain_arrow import write_arrow

SCORES, _LEARNED = ".scores", ".learned"
MOST_LOADED, MOST_ITEMS = 64, 2_000_000
"""Corrections, and items of all of them, that stay in memory; of more, those that were read last."""


class _Loaded(NamedTuple):
    """A correction, the file that it was read from, whose inode no other file gets meanwhile, and if it learns."""

    path: str
    file: HeldFile
    correction: ScoreCorrection
    learns: bool


class KeptCorrections:
    """The corrections of a catalog. What was read is kept as long as its file is the same."""

    def __init__(self, catalog: Path) -> None:
        self._folder = catalog / SCORES
        self._loaded: dict[str, _Loaded] = {}

    def names(self) -> list[str]:
        """Return the names of all corrections, in order."""
        with storage_errors(self._folder):
            return sorted(path.stem for path in self._folder.glob(f"*{ARROW_ENDING}") if is_name(path.stem))

    def loaded(self, name: str) -> ScoreCorrection | None:
        """Return a correction that is in memory and is the newest; None if it has to be read. Costs 5 µs."""
        found = self._loaded.get(name)
        if found is None:
            return None
        with storage_errors(self._folder):
            try:
                now = os.stat(found.path)  # noqa: PTH116  at half the cost
            except FileNotFoundError:
                return None
        return found.correction if found.file.place == (now.st_dev, now.st_ino) else None

    def get(self, name: str) -> ScoreCorrection:
        """Return a correction. Raises `ScoresNotFound`, `StorageError`, and as `ScoreCorrection.load`."""
        if (known := self.loaded(name)) is not None:
            return known
        self._loaded.pop(name, None)
        with _there(self._folder, name):
            file = HeldFile(self.path(name))  # first: if another takes its place, the next look sees that
            try:
                correction = ScoreCorrection.load(self.path(name))
            except InputError as error:
                raise StorageError(self.path(name), "it cannot be read: put the scores again") from error
        correction.offsets, correction.smallest  # noqa: B018  made here, and not for the first list
        self._loaded[name] = _Loaded(str(self.path(name)), file, correction, self.learned(name).put.exists())
        self._thin_out()
        return correction

    def put(self, name: str, correction: ScoreCorrection, learns_from: PutLists | None = None) -> bool:
        """Keep a correction, on the disk when this returns, and return if its name is new. Raises `StorageError`.

        With lists it learns from what it is asked; without, it does no more.
        """
        check_name(name, "name")
        with storage_errors(self._folder):
            make_folder(self._folder)
            with locked(self._folder / LOCK):
                new = not self.path(name).exists()
                learned = self.learned(name)
                learns = False
                try:
                    if learns_from is not None:
                        learned.begin(learns_from)
                    self._write(name, correction)
                    learns = learns_from is not None
                finally:
                    if not learns:
                        shutil.rmtree(learned.home, ignore_errors=True)
        return new

    def delete(self, name: str) -> None:
        """Forget a correction, and what it learned. Raises `ScoresNotFound`."""
        with _there(self._folder, name), locked(self._folder / LOCK):
            self.path(name).unlink()
            shutil.rmtree(self.learned(name).home, ignore_errors=True)
            sync(self._folder)
        self._loaded.pop(name, None)

    def heard(self, name: str, ids: Sequence[Any], scores: Sequence[float], client: str | bytes) -> AskedList | None:
        """Return what a correction that is in memory keeps of a list that it was asked; None if it does not learn."""
        found = self._loaded.get(name)
        if found is None or not found.learns:
            return None
        return AskedList.of(ids, scores, client, distance=found.correction.distance)

    def add(self, name: str, asked: Iterable[AskedList], now: float) -> None:
        """Keep lists that a correction was asked, if it learns. Raises `StorageError`."""
        learned = self.learned(name)
        if learned.put.exists():
            with storage_errors(self._folder):
                salt = Salt(self._folder)
                with locked(self._folder / LOCK):
                    if learned.put.exists():
                        learned.add(asked, salt, now)

    def due(self, now: float) -> list[str]:
        """Return the names of corrections that are to be fitted anew."""
        with storage_errors(self._folder):
            homes = sorted(self._folder.glob(f"*{_LEARNED}"))
            return [home.stem for home in homes if self.path(home.stem).exists() and LearnedLists(home).is_due(now)]

    def learn(self, name: str) -> bool:
        """Fit a correction anew, which takes seconds. Return False if it was put anew or deleted meanwhile."""
        learned = self.learned(name)
        with _there(self._folder, name):
            put = HeldFile(learned.put)
            kept = learned.kept()
            correction, held_back = learned.fitted(self.get(name))
            with locked(self._folder / LOCK):
                now = learned.put.stat()
                if not self.path(name).exists() or put.place != (now.st_dev, now.st_ino):
                    return False
                self._write(name, correction)
                learned.note_fit(kept, held_back)
        return True

    def path(self, name: str) -> Path:
        """Return where a correction is, or would be."""
        return self._folder / f"{name}{ARROW_ENDING}"

    def learned(self, name: str) -> LearnedLists:
        """Return what a correction learns from, or would."""
        return LearnedLists(self._folder / f"{name}{_LEARNED}")

    def _write(self, name: str, correction: ScoreCorrection) -> None:
        with replaced(self.path(name)) as new:
            write_arrow(correction.table(), new)

    def _thin_out(self) -> None:
        items = 0
        for place, (name, loaded) in enumerate(reversed([*self._loaded.items()])):
            items += len(loaded.correction.ids)
            if place and (place >= MOST_LOADED or items > MOST_ITEMS):
                self._loaded.pop(name, None)


@contextmanager
def _there(folder: Path, name: str) -> Iterator[None]:
    with storage_errors(folder):
        try:
            if not is_name(name):
                raise FileNotFoundError
            yield
        except FileNotFoundError as error:
            raise ScoresNotFound(f'There is no correction of scores "{name}".') from error
