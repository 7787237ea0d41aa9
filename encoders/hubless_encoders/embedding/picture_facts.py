"""Facts in the head of a picture: its size, and what was written there about it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hubless.vectors.readers.pictures import ORIENTATION, PictureSource, exif_of, opened_picture

_DESCRIPTION = 0x010E
_ON_ITS_SIDE = (5, 6, 7, 8)
"""Orientations of EXIF that swap width and height."""
_OF_WINDOWS = (0x9C9B, 0x9C9F, 0x9C9C)
"""Title, subject and comment, as the dialogs of Windows write them."""
_OF_IPTC = ((2, 5), (2, 105), (2, 120))
"""Title, headline and caption."""


class PictureFacts(NamedTuple):
    """Facts in the head of a picture: its size as people see it, and texts of titles and descriptions."""

    width: int
    height: int
    texts: list[str]


def picture_facts(source: PictureSource) -> PictureFacts:
    """Return what the head of a picture says, without reading the rest. Raises as `read_picture`."""
    with opened_picture(source, "picture") as opened:
        exif = exif_of(opened)
        width, height = opened.size
        texts = [*_of_exif(exif), *_of_iptc(opened)]
    if exif.get(ORIENTATION) in _ON_ITS_SIDE:
        width, height = height, width
    return PictureFacts(width, height, [text for text in (each.strip("\0 \n\r\t") for each in texts) if text])


def _of_exif(exif: Mapping[int, Any]) -> list[str]:
    said = [exif.get(_DESCRIPTION)]
    said += [bytes(found).decode("utf-16-le", "replace") for tag in _OF_WINDOWS if (found := exif.get(tag))]
    return [text for text in said if isinstance(text, str)]


def _of_iptc(opened: Any) -> list[str]:
    from PIL import IptcImagePlugin

    found = IptcImagePlugin.getiptcinfo(opened) or {}
    return [said.decode("utf-8", "replace") for key in _OF_IPTC if isinstance(said := found.get(key), bytes)]
