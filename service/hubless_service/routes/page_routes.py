"""Pages for people: /console, /docs with nothing from another host, and /."""

import os
from pathlib import Path

import fastapi_offline
from fastapi import Request, Response
from fastapi.responses import FileResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.routing import Mount, Route
from starlette.types import Scope

import hubless_service
from hubless_service.access.authentication import CONSOLE, DOCS

_PACKAGE = Path(hubless_service.__file__).parent
_INSTALLED, _IN_REPOSITORY = _PACKAGE / "console", _PACKAGE.parents[1] / "console"
FILES = _INSTALLED if _INSTALLED.is_dir() else _IN_REPOSITORY
"""The wheel has them inside the package, the repository beside it."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob: https:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Only files from here, pictures that the page has loaded, and images that payload names.

No script or style stands in a page, so payload cannot bring one.
"""
# a browser asks whether its copy still holds, so that an upgrade is seen at once
_HEADERS = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}


class _Assets(StaticFiles):
    """Files of a folder. A name that no file can have is not there: Starlette before 0.51 fails at it."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        return ("", None) if "\0" in path else super().lookup_path(path)


class _Files(_Assets):
    """Files with the headers of the page."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        return response


_ASSETS = Path(fastapi_offline.__file__).parent / "static"
_DOCS_POLICY = POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'").replace(" blob: https:", "")
"""Swagger UI writes styles, and shows no pictures."""


async def _docs(request: Request) -> Response:
    return FileResponse(FILES / "docs.html", headers={"Content-Security-Policy": _DOCS_POLICY})


_START = CONSOLE.removeprefix("/")  # relative, so that it also works behind a proxy that serves it under a prefix
PAGES = [
    Route("/", RedirectResponse(_START), methods=["GET"]),
    Route(CONSOLE, RedirectResponse(f"{_START}/", headers=_HEADERS), methods=["GET"]),
    Mount(CONSOLE, _Files(directory=FILES, html=True)),
    Route(DOCS, _docs),
    Mount(f"{DOCS}/assets", _Assets(directory=_ASSETS)),
]
"""The console, Swagger UI from the files of an installed package, and `/`, which leads to where people begin."""
