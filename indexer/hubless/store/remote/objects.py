"""Objects below an address: read, written, and replaced if nobody else has replaced them. A seam over fsspec."""

import errno
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from hubless.errors import InputError, PreconditionFailed, StorageError, how_to_install, one_line
from hubless.store.address import EXTRAS
from hubless.store.remote.conditions import is_forbidden, is_not_met, is_not_there, tag_of, write_if

TRIES, PAUSE_SECONDS = 4, 0.5
"""How often one request to S3 is tried, and the pause after the first failure; it doubles. The libraries for the other
stores try again themselves."""
_TIMEOUTS = {"connect_timeout": 10, "read_timeout": 30}
_OPTIONS: dict[str, dict[str, Any]] = {"s3": {"config_kwargs": {**_TIMEOUTS, "retries": {"total_max_attempts": 1}}}}
T = TypeVar("T")

log = logging.getLogger("hubless.store")


class Objects:
    """What lies below an address.

    Parameters
    ----------
    address : such as s3://bucket/prefix

    Raises
    ------
    InputError
        if the package for the scheme is not installed.
    StorageError
        from every method, if the store refuses or cannot be reached, also after some tries.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._scheme, _, self._root = address.partition("://")
        try:
            import fsspec

            self._files = fsspec.filesystem(
                self._scheme, skip_instance_cache=True, use_listings_cache=False, **_OPTIONS.get(self._scheme, {})
            )
            self._files.retries = 1  # of s3fs: tries are counted here
        except ImportError as error:
            extra = EXTRAS[self._scheme]
            raise InputError(address, f"the extra {extra} ({how_to_install(extra)})", "no such package") from error

    def read(self, key: str) -> bytes | None:
        """Return the content of an object; None if it is not there."""
        return self._tried(key, lambda path: bytes(self._files.cat_file(path)))

    def read_part(self, key: str, start: int, end: int) -> bytes:
        """Return bytes of an object, from `start` up to `end`.

        Raises
        ------
        StorageError
            also if it is not there, or fewer bytes come.
        """

        def read(path: str) -> bytes:
            part = bytes(self._files.cat_file(path, start=start, end=end))
            if len(part) != end - start:
                raise OSError(errno.EIO, f"{len(part)} bytes came instead of {end - start}")
            return part

        if (part := self._tried(key, read)) is None:
            raise StorageError(self._name(key), "is not there")
        return part

    def tag(self, key: str) -> str | None:
        """Return what changes with the content of an object, for `replace`; None if it is not there."""
        found = self._info(key)
        return None if found is None else tag_of(self._scheme, found)

    def size(self, key: str) -> int | None:
        """Return the bytes of an object; None if it is not there."""
        found = self._info(key)
        return None if found is None else int(found["size"])

    def put(self, key: str, file: Path) -> None:
        """Copy a file to an object, and check the size of what came."""
        size = file.stat().st_size

        def put(path: str) -> None:
            self._files.put_file(str(file), path)
            if (came := int(self._files.info(path, refresh=True)["size"])) != size:
                raise OSError(errno.EIO, f"{came} bytes came instead of {size}")

        self._written(key, put)

    def replace(self, key: str, content: bytes, tag: str | None) -> None:
        """Write a small object if it still has a tag, or if it still is not there (None). The store checks this.

        Raises
        ------
        PreconditionFailed
            if somebody else has written it.
        """
        tries = 0

        def write(path: str) -> None:
            nonlocal tries
            tries += 1
            try:
                write_if(self._files, path, content, self._scheme, tag)
            except Exception as error:  # each library has errors of its own
                if is_not_there(error) and tag is not None:
                    raise self._changed(key) from error
                if not is_not_met(error):
                    raise
                # an answer may have been lost: then what stands there is ours
                if tries == 1 or self._files.cat_file(path) != content:
                    raise self._changed(key) from error

        self._written(key, write)

    def write(self, key: str, content: bytes) -> None:
        """Write a small object, whatever was there."""
        self._written(key, lambda path: self._files.pipe_file(path, content))

    def modified(self, key: str) -> datetime | None:
        """Return when an object was written, by the store's clock; None if it is not there."""
        found = self._tried(key, lambda path: self._files.modified(path))
        return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)

    def names(self, key: str = "") -> list[str]:
        """Return the names below a key, of objects and of folders. A late listing may lack some.

        Raises
        ------
        StorageError
            also if there is no such bucket.
        """

        def listed(path: str) -> list[str]:
            return sorted(str(found).rstrip("/").rpartition("/")[2] for found in self._files.ls(path, detail=False))

        found = self._tried(key, listed)
        if found is None:
            bucket = self._root.partition("/")[0]
            if not self._tried("", lambda _: self._files.exists(bucket)):
                raise StorageError(self.address, "there is no such bucket")
        return found or []

    def remove(self, key: str) -> None:
        """Remove an object. It may be gone already."""
        self._tried(key, lambda path: self._files.rm_file(path))

    def _info(self, key: str) -> dict[str, Any] | None:
        found = self._tried(key, lambda path: self._files.info(path, refresh=True))
        return None if found is None or found["type"] == "directory" else found

    def _path(self, key: str) -> str:
        return f"{self._root}/{key}" if key else self._root

    def _name(self, key: str) -> str:
        return f"{self.address}/{key}" if key else self.address

    def _changed(self, key: str) -> PreconditionFailed:
        return PreconditionFailed(f"{self._name(key)} was changed by somebody else meanwhile")

    def _written(self, key: str, write: Callable[[str], None]) -> None:
        def done(path: str) -> bool:
            write(path)
            return True

        if not self._tried(key, done):
            raise StorageError(self.address, "there is no such bucket")

    def _tried(self, key: str, work: Callable[[str], T]) -> T | None:
        """What the work returns; None if the object is not there. Failures that may pass are tried again."""
        pause, tries = PAUSE_SECONDS, TRIES if self._scheme == "s3" else 1
        for last in [*[False] * (tries - 1), True]:
            try:
                with self._errors(key):
                    return work(self._path(key))
            except FileNotFoundError:
                return None
            except _Passing as error:
                if last:
                    raise StorageError(self._name(key), f"cannot be reached: {error}") from error
                log.debug("%s: tried again: %s", self._name(key), error)
            time.sleep(pause)
            pause *= 2
        raise AssertionError

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        """Tell failures that may pass from those that stay."""
        try:
            yield
        except (FileNotFoundError, StorageError, PreconditionFailed):
            raise
        except Exception as error:  # each library has errors of its own
            if is_forbidden(error):
                raise StorageError(self._name(key), f"no permission ({one_line(error)})") from error
            if is_not_there(error):
                raise FileNotFoundError(self._name(key)) from error
            raise _Passing(one_line(error)) from error


class _Passing(Exception):
    """A failure that may pass."""
