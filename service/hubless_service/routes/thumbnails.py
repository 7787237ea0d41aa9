"""Thumbnails of the targets' pictures, from one folder and from nowhere else."""

import asyncio
import logging
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from fastapi import Header, Response

import hubless
from hubless.errors import InputError
from hubless.vectors.readers.pictures import THUMBNAIL, thumbnail_of
from hubless_service import openapi
from hubless_service.http.problems import HttpProblem
from hubless_service.http.requests import PictureRequest
from hubless_service.http.values import Json
from hubless_service.routes.route import Call, Held, UrlOf, routes_of

_log = logging.getLogger("hubless.pictures")

picture_routes = routes_of("collections")
PATH_COLUMN = "path"
"""The payload column with the path of a picture below the folder. Without it the id is the path."""
_JPEG = "image/jpeg"
_PICTURE: dict[int | str, Json] = {
    200: {"content": {_JPEG: {"schema": {"type": "string", "format": "binary"}}}, "headers": {"ETag": openapi.TAG}},
    304: {"description": "The picture is the one that If-None-Match names."},
}
_KnownTag = Annotated[str | None, Header(description="The ETag of a picture that the client has.")]


@picture_routes.get(
    "/v1/collections/{collection}/pictures/{id:path}",
    response_class=Response,
    **openapi.route(
        "A thumbnail of a target's picture",
        None,
        *openapi.FIELDS,
        *openapi.SEARCHED,
        "collection_not_found",
        "point_not_found",
        "picture_not_found",
        also=_PICTURE,
    ),
)
async def get_picture(
    call: Call, held: Held, id: str, url: UrlOf[PictureRequest], if_none_match: _KnownTag = None
) -> Response:
    """As JPEG. Needs HUBLESS_PICTURES; the path below that folder is the payload's `path`, or the id."""
    pixels = url.pixels or THUMBNAIL
    folder = call.settings.pictures
    if folder is None:
        raise HttpProblem("picture_not_found", "The server has no pictures: HUBLESS_PICTURES names their folder.")
    path = await call.engine.run(call.trace, partial(_path_of, held, folder, id), held)
    try:
        stat = await asyncio.to_thread(path.stat)
        tag = f'"{sha256(f"{path} {stat.st_mtime_ns} {stat.st_size} {pixels}".encode()).hexdigest()[:32]}"'
        kept = {"ETag": tag, "Cache-Control": "private, no-cache"}
        if if_none_match is not None and tag in if_none_match:
            return Response(None, 304, kept)
        deadline = call.trace.started + call.settings.default_timeout_ms / 1000
        encoding = call.engine.encoding
        weight = await encoding.weigh(call.trace, path, "picture", deadline)
        made = await encoding.read(call.trace, weight, partial(thumbnail_of, path, pixels), deadline)
        return Response(made, 200, kept, _JPEG)
    except InputError as error:
        _log.warning('no picture of "%s" in %s: %s', id, held.name, error)
        raise HttpProblem(
            "picture_not_found", "The file of the target is no picture that can be read; the log says why."
        ) from error
    except OSError as error:
        raise _none() from error


def _path_of(held: hubless.Collection, folder: Path, text: str) -> Path:
    """Return the file of a target's picture. Raise a problem if it is none below the folder."""
    wanted = held.parts.ids.parse(text)
    (payload,) = held.payload([held.row(wanted)])
    named = str((payload or {}).get(PATH_COLUMN) or wanted)
    root = Path(str(folder).replace("{collection}", held.name)).resolve()
    try:
        path = (root / named).resolve(strict=True)  # whatever links stand in between
    except (OSError, ValueError, RuntimeError) as error:
        raise _none() from error
    if not (path.is_relative_to(root) and path.is_file()):
        raise _none()
    return path


def _none() -> HttpProblem:
    return HttpProblem("picture_not_found", "There is no file of the target's picture.")
