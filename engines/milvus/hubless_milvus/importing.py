"""Bulk import: Parquet files go into the bucket of a Milvus cluster, which reads them by itself."""

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from hubless.errors import EngineError, EngineTimeout, EngineUnavailable, StorageError
from hubless.progress import Steps
from hubless.store.address import address_of
from hubless.store.remote.objects import Objects
from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource
from hubless_milvus.client import Refused, again
from hubless_milvus.entities import Entities
from hubless_milvus.parquet import parquet_files
from hubless_milvus.server import BULK, TOKEN, Server

MOST_FILES = 500
"""Of a job. Milvus takes 1,024."""
STALLED_SECONDS = 3600.0
"""An import that makes no progress for so long has failed."""
POLL_SECONDS = 0.5

SECONDS = 60.0
"""For one request."""
_PATH = "/v2/vectordb/jobs/import"
_DONE = 0
"""Milvus' code for what went well."""
_REFUSED, _ABSENT = (401, 403), (404, 405, 501)

log = logging.getLogger("hubless.milvus")


def import_files(
    server: Server, name: str, entities: Entities, targets: VectorSource, offsets: F32, steps: Steps
) -> bool:
    """Let Milvus import all targets into a collection. The files are removed again, also after a failure.

    Return False if no prefix is set, or Milvus cannot import, so that it holds nothing yet. Raises `EngineError` if
    Milvus fails to import, or makes no progress; `StorageError` if the store refuses a file.
    """
    address = address_of(server.bulk)
    if address is None:
        return False
    jobs = Jobs(server, name)
    try:
        again(jobs.check)
    except NoImport as error:
        log.warning("Milvus at %s cannot import: %s; vectors are sent to it", server.uri, error)
        return False
    imports = _Imports(jobs, Objects(address), name, steps)
    with TemporaryDirectory() as folder:
        left = targets.shape[0]
        advance = steps.step("writing files for Milvus", left)
        try:
            for path, rows in parquet_files(entities, targets, offsets, Path(folder)):
                imports.put(path, rows)
                advance(rows)
                left -= rows
                if imports.full:
                    imports.run()
                    advance = steps.step("writing files for Milvus", left)
            imports.run()
        finally:
            imports.remove()
    return True


class _Imports:
    """Files in the bucket of Milvus, which it imports some hundred at a time."""

    def __init__(self, jobs: "Jobs", objects: Objects, name: str, steps: Steps) -> None:
        self._jobs, self._objects, self._name, self._steps = jobs, objects, name, steps
        self._keys: list[str] = []
        self._rows = 0

    @property
    def full(self) -> bool:
        return len(self._keys) >= MOST_FILES

    def put(self, path: Path, rows: int) -> None:
        """Move a file into the bucket."""
        key = f"{self._name}/{path.name}"
        self._keys.append(key)  # before it is there: a failure may leave it
        self._objects.put(key, path)
        path.unlink()
        self._rows += rows

    def run(self) -> None:
        """Import what was put, and remove it."""
        if self._keys:
            prefix = self._objects.address.partition("://")[2].partition("/")[2]
            files = [f"{prefix}/{key}" if prefix else key for key in self._keys]
            self._import(files, self._steps.step("importing into Milvus", self._rows))
            self.remove()

    def remove(self) -> None:
        """Remove what was put. What the store keeps is logged."""
        try:
            while self._keys:
                self._objects.remove(self._keys[-1])
                self._keys.pop()
        except StorageError as error:
            log.warning("files for Milvus are left below %s/%s: %s", self._objects.address, self._name, error)
        self._rows = 0

    def _import(self, files: Sequence[str], advance: Callable[[int], None]) -> None:
        try:
            job = self._jobs.begin(files)  # once: Milvus would import a second time what it imports already
            self._wait(job, advance)
        except NoImport as error:
            raise EngineError(f"Milvus could not import into collection {self._name}: {error}") from error

    def _wait(self, job: str, advance: Callable[[int], None]) -> None:
        done, reached, ends = 0, -1, 0.0
        while True:
            told = again(lambda: self._jobs.told(job))
            if told.get("state") == "Failed":
                raise EngineError(
                    f"Milvus could not import into collection {self._name}: {told.get('reason') or 'no reason given'} "
                    f"({BULK} is {self._objects.address}, and has to be in the bucket of Milvus)"
                )
            progress = 100 if told.get("state") == "Completed" else int(told.get("progress") or 0)
            advance(max(0, self._rows * progress // 100 - done))
            done = max(done, self._rows * progress // 100)
            if told.get("state") == "Completed":
                return
            if progress > reached:
                reached, ends = progress, time.monotonic() + STALLED_SECONDS
            elif time.monotonic() > ends:
                raise EngineTimeout(
                    f"the import into collection {self._name} has stood at {reached} % for {STALLED_SECONDS:g} seconds"
                )
            time.sleep(POLL_SECONDS)


class NoImport(Exception):
    """Milvus has no interface for imports."""


class Jobs:
    """The import jobs of a Milvus collection.

    Raises `NoImport` from every method, if Milvus cannot import; `EngineUnavailable`, `EngineTimeout`, `Refused` from
    every method.
    """

    def __init__(self, server: Server, collection: str) -> None:
        parsed = urlsplit(server.uri)
        scheme = "https" if parsed.scheme.lower() == "https" else "http"
        self._server = server
        self._url = f"{scheme}://{parsed.netloc}{_PATH}"
        # as in pymilvus, an address may name the database
        database = server.database or parsed.path.strip("/")
        self._named = {"collectionName": collection} | ({"dbName": database} if database else {})
        self._headers = {"Authorization": f"Bearer {server.token}"} if server.token else {}

    def check(self) -> None:
        """Ask for the jobs that there are, to see whether Milvus can import."""
        self._ask("list")

    def begin(self, files: Sequence[str]) -> str:
        """Begin to import files, named within the bucket of Milvus. Return the id of the job."""
        return str(self._ask("create", files=[[file] for file in files])["jobId"])

    def told(self, job: str) -> dict[str, Any]:
        """Return the state of a job of Milvus: state, progress in percent, and the reason of a failure."""
        return dict(self._ask("describe", jobId=job))

    def _ask(self, action: str, **more: Any) -> Any:
        import httpx  # takes a tenth of a second, and few builds import

        where = f"Milvus at {self._server.uri}"
        try:
            answer = httpx.post(
                f"{self._url}/{action}", json=self._named | more, headers=self._headers, timeout=SECONDS
            )
        except httpx.ConnectTimeout as error:
            raise EngineUnavailable(f"{where} cannot be reached") from error
        except httpx.TimeoutException as error:
            raise EngineTimeout(f"{where} did not answer in time") from error
        except httpx.RemoteProtocolError as error:  # it speaks gRPC only
            raise NoImport("it does not answer over HTTP") from error
        except httpx.HTTPError as error:
            raise EngineUnavailable(f"{where} cannot be reached") from error
        if answer.status_code in _ABSENT:
            raise NoImport(f"it answers {answer.status_code} to {_PATH}/{action}")
        if answer.status_code in _REFUSED:
            raise Refused(f"{where} refuses the login; {TOKEN} holds user:password or a key", -1)
        if answer.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
            raise EngineUnavailable(f"{where} answers {answer.status_code} to an import")
        try:
            content = answer.json()
            code = content["code"]
            if code == _DONE:
                return content["data"]
        except (ValueError, KeyError, TypeError) as error:
            raise Refused(f"{where} answers {answer.status_code} to an import, without what was asked", -1) from error
        raise Refused(f"{where} says of an import: {str(content.get('message', 'nothing')).rstrip('.')}", code)
