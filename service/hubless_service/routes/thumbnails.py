"""Thumbnails of the targets' pictures, from one folder and from nowhere else."""

import logging
import os
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Annotated, BinaryIO, TypeVar

from fastapi import Header, Response

import hubless
from hubless.errors import InputError
from hubless.vectors.readers.pictures import THUMBNAIL, pixels_of, thumbnail_of
from hubless.vectors.readers.plain_files import open_below
from hubless_service import openapi
from hubless_service.http.problems import HttpProblem
from hubless_service.http.requests import PictureRequest
from hubless_service.http.values import Json
from hubless_service.routes.route import Call, Held, UrlOf, routes_of

_log = logging.getLogger("hubless.pictures")

picture_routes = routes_of("collections")
PATH_COLUMN = "path"
"""The payload column with the path of a picture below the folder. Without it the id is the path."""
_T = TypeVar("_T")
_JPEG = "image/jpeg"
_PICTURE: dict[int | str, Json] = {
    200: {"content": {_JPEG: {"schema": {"type": "string", "format": "binary"}}}, "headers": {"ETag": openapi.TAG}},
    304: {"description": "The picture is the one that If-None-Match names."},
}
_KnownTag = Annotated[str | None, Header(description="The ETag of a picture that the client has.")]


@picture_routes.at(
    "GET",
    "/v1/collections/{collection}/pictures/{id:path}",
    "A thumbnail of a target's picture",
    None,
    *openapi.SEARCHED,
    "point_not_found",
    "picture_not_found",
    also=_PICTURE,
    response_class=Response,
)
async def get_picture(
    call: Call, held: Held, id: str, url: UrlOf[PictureRequest], if_none_match: _KnownTag = None
) -> Response:
    """As JPEG. Needs HUBLESS_PICTURES; the path below that folder is the payload's `path`, or the id."""
    pixels = url.pixels or THUMBNAIL
    folder = call.settings.pictures
    if folder is None:
        raise HttpProblem("picture_not_found", "The server has no pictures: HUBLESS_PICTURES names their folder.")
    place = await call.run(held, _path_of, held, folder, id)

    async def read(make: Callable[[BinaryIO], _T], weight: int = 0) -> tuple[dict[str, str], _T]:
        return await call.engine.encoding.read(call.trace, weight, partial(_read, *place, pixels, make), call.deadline)

    try:
        # opened twice, as one that waits with an open file would take a descriptor from the others
        kept, weight = await read(pixels_of)
        if kept["ETag"] in (if_none_match or ""):
            return Response(None, 304, kept)
        kept, picture = await read(partial(thumbnail_of, pixels=pixels), weight)
        return Response(picture, 200, kept, _JPEG)
    except (InputError, OSError) as error:
        if not isinstance(error, FileNotFoundError):
            _log.warning('no picture of "%s" in %s: %s', id, held.name, error)
        raise HttpProblem(
            "picture_not_found",
            "The target has no file that is a picture and can be read; of one that is there the log says why.",
        ) from error


def _path_of(held: hubless.Collection, folder: Path, text: str) -> tuple[Path, str]:
    """Return the folder of a collection's pictures, and the name of a target's below it."""
    wanted = held.parts.ids.parse(text)
    (payload,) = held.payload([held.row(wanted)])
    return Path(str(folder).replace("{collection}", held.name)), str((payload or {}).get(PATH_COLUMN) or wanted)


def _read(root: Path, name: str, pixels: int, make: Callable[[BinaryIO], _T]) -> tuple[dict[str, str], _T]:
    """Return the headers of a picture as it is now, and what is made of its file."""
    with open_below(root, name) as file:
        stat = os.fstat(file.fileno())
        said = repr((root, name, stat.st_ino, stat.st_mtime_ns, stat.st_size, pixels))
        kept = {"ETag": f'"{sha256(said.encode()).hexdigest()[:32]}"', "Cache-Control": "private, no-cache"}
        return kept, make(file)
