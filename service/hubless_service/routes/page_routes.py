"""Pages for people: /console, /docs with nothing from another host, and /."""

import base64
import re
from hashlib import sha256
from pathlib import Path

import fastapi_offline
from fastapi import FastAPI, Request, Response
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
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


class _Files(StaticFiles):
    """Files with the headers of the page."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        return response


def install_console(app: FastAPI) -> None:
    """Serve the console and its files."""

    async def to_page(request: Request) -> Response:
        # relative, so that it also works behind a proxy that serves it under a prefix
        return RedirectResponse(f"{CONSOLE.removeprefix('/')}/", headers=_HEADERS)

    app.add_route(CONSOLE, to_page, include_in_schema=False)
    app.mount(CONSOLE, _Files(directory=FILES, html=True))


_BUNDLE = b"SwaggerUIBundle({"
_MARKED = _BUNDLE + b"requestInterceptor: sent => { sent.headers['X-No-Sample'] = '1'; return sent },"
"""Whoever tries a request there looks how it goes: see `observing.traffic`."""
_ASSETS = Path(fastapi_offline.__file__).parent / "static"


def install_docs(app: FastAPI) -> None:
    """Serve Swagger UI from the files of an installed package, and lead `/` to the page that people begin with."""
    # relative, so that the page also works behind a proxy that serves it under a prefix
    made = get_swagger_ui_html(
        openapi_url="openapi.json",
        title=app.title,
        swagger_js_url="docs/assets/swagger-ui-bundle.js",
        swagger_css_url="docs/assets/swagger-ui.css",
        swagger_favicon_url="docs/assets/favicon.png",
        swagger_ui_parameters={"validatorUrl": None},  # by default a badge from swagger.io
    )
    html = bytes(made.body).replace(_BUNDLE, _MARKED)
    headers = {"Content-Security-Policy": _policy(html)}

    async def page(request: Request) -> Response:
        return HTMLResponse(html, headers=headers)

    async def to_start(request: Request) -> Response:
        return RedirectResponse(CONSOLE.removeprefix("/"))

    app.add_route(DOCS, page, include_in_schema=False)
    app.mount(f"{DOCS}/assets", StaticFiles(directory=_ASSETS))
    app.add_route("/", to_start, include_in_schema=False)


def _policy(html: bytes) -> str:
    """Only what the page needs: files from here, its own script and no other, and the styles that Swagger UI writes."""
    (script,) = re.findall(rb"(?s)<script>(.*?)</script>", html)
    allowed = base64.b64encode(sha256(script).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{allowed}'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
