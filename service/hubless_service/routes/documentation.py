"""/docs, with nothing from another host: the page must work where there is no internet."""

from pathlib import Path

import fastapi_offline
from fastapi import FastAPI, Request, Response
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.staticfiles import StaticFiles

_ASSETS = Path(fastapi_offline.__file__).parent / "static"


def install(app: FastAPI) -> None:
    """Serve Swagger UI from the files of an installed package."""

    async def page(request: Request) -> Response:
        # relative, so that the page also works behind a proxy that serves it under a prefix
        return get_swagger_ui_html(
            openapi_url="openapi.json",
            title=app.title,
            swagger_js_url="docs/assets/swagger-ui-bundle.js",
            swagger_css_url="docs/assets/swagger-ui.css",
            swagger_favicon_url="docs/assets/favicon.png",
            swagger_ui_parameters={"validatorUrl": None},  # by default a badge from swagger.io
        )

    app.add_route("/docs", page, include_in_schema=False)
    app.mount("/docs/assets", StaticFiles(directory=_ASSETS))
