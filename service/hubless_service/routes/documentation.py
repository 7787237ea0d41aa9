"""/docs, with nothing from another host; and /."""

import base64
import re
from hashlib import sha256
from pathlib import Path

import fastapi_offline
from fastapi import FastAPI, Request, Response
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles

from hubless_service.access.authentication import CONSOLE, DOCS

_ASSETS = Path(fastapi_offline.__file__).parent / "static"


def install(app: FastAPI) -> None:
    """Serve Swagger UI from the files of an installed package, and lead `/` to the page that people begin with."""
    _install_page(app)
    _install_start(app, CONSOLE if app.state.hubless.settings.console else DOCS)


def _install_page(app: FastAPI) -> None:
    # relative, so that the page also works behind a proxy that serves it under a prefix
    made = get_swagger_ui_html(
        openapi_url="openapi.json",
        title=app.title,
        swagger_js_url="docs/assets/swagger-ui-bundle.js",
        swagger_css_url="docs/assets/swagger-ui.css",
        swagger_favicon_url="docs/assets/favicon.png",
        swagger_ui_parameters={"validatorUrl": None},  # by default a badge from swagger.io
    )
    html = bytes(made.body)
    headers = {"Content-Security-Policy": _policy(html)}

    async def page(request: Request) -> Response:
        return HTMLResponse(html, headers=headers)

    app.add_route(DOCS, page, include_in_schema=False)
    app.mount(f"{DOCS}/assets", StaticFiles(directory=_ASSETS))


def _install_start(app: FastAPI, start: str) -> None:
    """Lead `/` to the page that people begin with."""

    async def to_start(request: Request) -> Response:
        return RedirectResponse(start.removeprefix("/"))

    app.add_route("/", to_start, include_in_schema=False)


def _policy(html: bytes) -> str:
    """Only what the page needs: files from here, its own script and no other, and the styles that Swagger UI writes."""
    (script,) = re.findall(rb"(?s)<script>(.*?)</script>", html)
    allowed = base64.b64encode(sha256(script).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{allowed}'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
