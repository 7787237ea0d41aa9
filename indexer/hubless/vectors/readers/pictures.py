"""Pictures: JPEG, PNG, WebP and the first frame of a GIF. Pillow is an extra, and is imported when the first comes."""

from collections.abc import Mapping
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hubless.errors import InputError, how_to_install

if TYPE_CHECKING:
    from PIL.Image import Image

PICTURE_FORMATS = ("GIF", "JPEG", "PNG", "WEBP")
MOST_BYTES, MOST_PIXELS = 50 * 2**20, 50_000_000
"""A larger picture is refused: it would take more memory than it is worth. 50 million pixels take 150 MB."""
THUMBNAIL = 256
"""Pixels of the longer side of a thumbnail."""
_ORIENTATION, _DESCRIPTION = 0x0112, 0x010E
_ON_ITS_SIDE = (5, 6, 7, 8)
"""Orientations of EXIF that swap width and height."""
_OF_WINDOWS = (0x9C9B, 0x9C9F, 0x9C9C)
"""Title, subject and comment, as the dialogs of Windows write them."""
_OF_IPTC = ((2, 5), (2, 105), (2, 120))
"""Title, headline and caption."""
_EXPECTED = "a picture as JPEG, PNG, WebP or GIF"


def check_pillow(parameter: str = "picture") -> None:
    """Raise `InputError` that says what to install if pictures cannot be read here."""
    if find_spec("PIL") is None:
        raise _no_pillow(parameter)


def read_picture(source: bytes | Path, parameter: str = "picture", at_least: int | None = None) -> "Image":
    """Return a picture in RGB, turned as its EXIF says.

    With `at_least` a JPEG may come back smaller, with sides of at least so many pixels: this is several times as fast.
    Raises `InputError` for anything else than a picture, a damaged one, and one of more than `MOST_BYTES` or
    `MOST_PIXELS`.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise _no_pillow(parameter) from error

    too_many = (Image.DecompressionBombWarning, Image.DecompressionBombError)
    try:
        _check_size(len(source) if isinstance(source, bytes) else source.stat().st_size, parameter)
        with Image.open(BytesIO(source) if isinstance(source, bytes) else source, formats=PICTURE_FORMATS) as opened:
            width, height = opened.size
            if width * height > MOST_PIXELS:
                raise InputError(parameter, f"a picture of at most {MOST_PIXELS:,} pixels", f"{width} × {height}")
            if at_least is not None:
                opened.draft("RGB", (at_least, at_least))
            return ImageOps.exif_transpose(opened).convert("RGB")
    except InputError:
        raise
    except too_many as error:
        raise InputError(parameter, f"a picture of at most {MOST_PIXELS:,} pixels", "more") from error
    except MemoryError:
        raise
    except FileNotFoundError as error:
        raise InputError(parameter, "a file that is there", source) from error
    except Exception as error:  # a damaged file raises whatever its decoder runs into
        raise InputError(parameter, _EXPECTED, _said(error)) from error


class PictureFacts(NamedTuple):
    """Facts in the head of a picture: its size as people see it, and texts of titles and descriptions."""

    width: int
    height: int
    texts: list[str]


def picture_facts(path: Path, parameter: str = "picture") -> PictureFacts:
    """Return what the head of a picture says, without reading the rest. Raises as `read_picture`."""
    try:
        from PIL import Image
    except ImportError as error:
        raise _no_pillow(parameter) from error
    try:
        with Image.open(path, formats=PICTURE_FORMATS) as opened:
            exif = opened.getexif()
            width, height = opened.size
            texts = [*_of_exif(exif), *_of_iptc(opened)]
    except Exception as error:  # a damaged file raises whatever its reader runs into
        raise InputError(parameter, _EXPECTED, _said(error)) from error
    if exif.get(_ORIENTATION) in _ON_ITS_SIDE:
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


def thumbnail_of(source: bytes | Path, pixels: int = THUMBNAIL, parameter: str = "picture") -> bytes:
    """Return a picture as a JPEG whose longer side has at most so many pixels. Raises as `read_picture`."""
    picture = read_picture(source, parameter, at_least=pixels)
    picture.thumbnail((pixels, pixels))
    written = BytesIO()
    picture.save(written, "JPEG", quality=85)
    return written.getvalue()


def _no_pillow(parameter: str) -> InputError:
    return InputError(parameter, f"the extra pictures: {how_to_install('pictures')}", "no Pillow")


def _check_size(size: int, parameter: str) -> None:
    if size > MOST_BYTES:
        raise InputError(parameter, f"a picture of at most {MOST_BYTES:,} bytes", f"{size:,}")


def _said(error: Exception) -> str:
    return "something else" if type(error).__name__ == "UnidentifiedImageError" else f"a damaged one: {error}"
