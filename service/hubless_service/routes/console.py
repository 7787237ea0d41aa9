"""/console: a page that talks to this service. Its files need no key; what it shows does."""

from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

import hubless_service
from hubless_service.access.authentication import CONSOLE

_PACKAGE = Path(hubless_service.__file__).parent
_INSTALLED, _IN_REPOSITORY = _PACKAGE / "console", _PACKAGE.parents[1] / "console"
FILES = _INSTALLED if _INSTALLED.is_dir() else _IN_REPOSITORY
"""The wheel has them inside the package, the repository beside it."""
_PAGE = "index.html"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Only files from here, and images that payload names. No script or style in a page, so payload cannot bring one."""
# a browser asks whether its copy still holds, so that an upgrade is seen at once
_HEADERS = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache"}


class _Files(StaticFiles):
    """Files with the headers of the page."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        return response


def install(app: FastAPI) -> None:
    """Serve the page and its files."""

    async def page(request: Request) -> Response:
        return FileResponse(FILES / _PAGE, headers=_HEADERS)

    async def to_page(request: Request) -> Response:
        # relative, so that it also works behind a proxy that serves it under a prefix
        return RedirectResponse(f"{CONSOLE.removeprefix('/')}/", headers=_HEADERS)

    app.add_route(CONSOLE, to_page, include_in_schema=False)
    app.add_route(f"{CONSOLE}/", page, include_in_schema=False)
    app.mount(CONSOLE, _Files(directory=FILES))
