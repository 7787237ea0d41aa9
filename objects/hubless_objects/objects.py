"""Objects below an address: read, written, and replaced if nobody else has replaced them. A seam over obstore."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from obstore import exceptions
from obstore.store import AzureStore, GCSStore, ObjectStore, S3Store

from hubless.errors import PreconditionFailed, StorageError, one_line
from hubless.store.durable import sync

CHUNK = 16 * 2**20
"""Bytes of one request. What came before a failure need not come again."""
RETRIES = 3
CLIENT: dict[str, Any] = {"connect_timeout": timedelta(seconds=10), "timeout": timedelta(seconds=30)}
PAUSES: dict[str, Any] = {"init_backoff": timedelta(seconds=0.5), "max_backoff": timedelta(seconds=4), "base": 2}
"""The pause after the first failure, the longest one, and the factor between two."""
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "bucket does not exist")


class Objects:
    """Objects below an address. Every method raises `StorageError` if the store refuses or cannot be reached."""

    def __init__(self, address: str) -> None:
        self.address = address
        with self._errors(""):
            self._store = _store(address)

    def read(self, key: str) -> bytes | None:
        try:
            with self._errors(key):
                return bytes(self._store.get(key).bytes())
        except FileNotFoundError:
            return None

    def read_part(self, key: str, start: int, end: int) -> bytes:
        try:
            with self._errors(key):
                part = bytes(self._store.get_range(key, start=start, end=end))
        except FileNotFoundError:
            raise StorageError(self._name(key), "is not there") from None
        if len(part) != end - start:
            raise StorageError(self._name(key), f"{len(part)} bytes came instead of {end - start}")
        return part

    def fetch(self, key: str, path: Path, size: int) -> None:
        with path.open("ab") as file:
            if file.tell() > size:
                file.truncate(0)
            while (done := file.tell()) < size:
                part = self.read_part(key, done, min(done + CHUNK, size))
                file.write(part)
                file.flush()
        sync(path)

    def tag(self, key: str) -> str | None:
        """Return a text that changes with the content of an object, for `replace`; None if it is not there."""
        found = self._head(key)
        return None if found is None else f"{found['e_tag'] or ''} {found['version'] or ''}"

    def size(self, key: str) -> int | None:
        found = self._head(key)
        return None if found is None else int(found["size"])

    def put(self, key: str, file: Path) -> None:
        size = file.stat().st_size
        with self._written(key):
            self._store.put(key, file)
        if (came := self.size(key)) != size:
            raise StorageError(self._name(key), f"{came} bytes came instead of {size}")

    def replace(self, key: str, content: bytes, tag: str | None) -> None:
        """Write a small object if it still has a tag, or if it still is not there (None). The store checks this."""
        etag, _, version = (tag or "").partition(" ")
        mode: Any = "create"
        if tag is not None:
            mode = {name: value for name, value in (("e_tag", etag), ("version", version)) if value}
        try:
            with self._written(key):
                self._store.put(key, content, mode=mode, use_multipart=False)
        except PreconditionFailed:
            # an answer may have been lost, and the request repeated: then our own content stands there
            if self.read(key) != content:
                raise

    def names(self, key: str = "") -> list[str]:
        with self._written(key):
            found = self._store.list_with_delimiter(key or None)
        paths = [*found["common_prefixes"], *(each["path"] for each in found["objects"])]
        return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)

    def remove(self, key: str) -> None:
        try:
            with self._errors(key):
                self._store.delete(key)
        except FileNotFoundError:
            pass

    def _head(self, key: str) -> Any:
        try:
            with self._errors(key):
                return self._store.head(key)
        except FileNotFoundError:
            return None

    def _name(self, key: str) -> str:
        return f"{self.address}/{key}" if key else self.address

    @contextmanager
    def _written(self, key: str) -> Iterator[None]:
        """Translate errors where a missing object can only be a missing bucket, or one that somebody removed."""
        try:
            with self._errors(key):
                yield
        except FileNotFoundError as error:
            if any(sign in str(error) for sign in _NO_BUCKET) or not key:
                raise StorageError(self.address, "there is no such bucket") from None
            raise PreconditionFailed(f"{self._name(key)} was changed by somebody else meanwhile") from None

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, exceptions.NotFoundError) as error:
            raise FileNotFoundError(str(error)) from None
        except (exceptions.PreconditionError, exceptions.AlreadyExistsError) as error:
            raise PreconditionFailed(f"{self._name(key)} was changed by somebody else meanwhile") from error
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            raise StorageError(self._name(key), f"no permission: {one_line(error)}") from error
        except exceptions.BaseError as error:
            text = str(error)
            if " 404 " in text:  # a listing does not name these kinds
                raise FileNotFoundError(text) from None
            why = "no permission" if " 401 " in text or " 403 " in text else "cannot be reached"
            raise StorageError(self._name(key), f"{why}: {one_line(error)}") from error


def _store(address: str) -> ObjectStore:
    scheme, _, path = address.partition("://")
    bucket, _, prefix = path.partition("/")
    # one without TLS, such as a MinIO beside the service or an emulator
    named = (value for name, value in os.environ.items() if "ENDPOINT" in name or "EMULATOR" in name)
    client: Any = {**CLIENT, "allow_http": any(value.startswith("http://") for value in named)}
    retry: Any = {"max_retries": RETRIES, "backoff": PAUSES}
    kind: Any = {"s3": S3Store, "gs": GCSStore, "az": AzureStore}[scheme]
    options: dict[str, Any] = {"disable_bulk_delete": True} if scheme == "s3" else {}  # not all stores know it
    store: ObjectStore = kind(bucket, prefix=prefix or None, client_options=client, retry_config=retry, **options)
    return store
