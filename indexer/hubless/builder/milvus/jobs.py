"""Import jobs of a Milvus cluster, over its HTTP interface (https://milvus.io/docs/import-data.md)."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from hubless.errors import EngineTimeout, EngineUnavailable
from hubless.search.engines.milvus.client import Refused
from hubless.search.engines.milvus.server import TOKEN, Server

SECONDS = 60.0
"""For one request."""
_PATH = "/v2/vectordb/jobs/import"
_DONE = 0
"""Milvus' code for what went well."""
_REFUSED, _ABSENT = (401, 403), (404, 405, 501)


class NoImport(Exception):
    """Milvus has no interface for imports."""


class Jobs:
    """The import jobs of a Milvus collection.

    Raises
    ------
    NoImport
        from every method, if Milvus cannot import.
    EngineUnavailable, EngineTimeout, Refused
        from every method.
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
        """What Milvus tells of a job: state, progress in percent, and the reason of a failure."""
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
