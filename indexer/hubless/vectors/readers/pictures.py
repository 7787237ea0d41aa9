"""Pictures: JPEG, PNG, WebP and the first frame of a GIF. Pillow is an extra, and is imported when the first comes."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np

from hubless.errors import InputError, how_to_install

if TYPE_CHECKING:
    from PIL.Image import Image


PictureSource: TypeAlias = bytes | Path | BinaryIO
"""The bytes of a picture, its file, or the file when it is open, which stays open and is read from its beginning."""


class PictureFormat(NamedTuple):
    """A format: its media type, the first bytes of its files, and what their names end with."""

    media_type: str
    begins: bytes
    endings: tuple[str, ...]


PICTURE_FORMATS = {
    "JPEG": PictureFormat("image/jpeg", b"\xff\xd8", (".jpg", ".jpeg")),
    "PNG": PictureFormat("image/png", b"\x89PNG", (".png",)),
    "WEBP": PictureFormat("image/webp", b"RIFF", (".webp",)),
    "GIF": PictureFormat("image/gif", b"GIF8", (".gif",)),
}
"""By the names that Pillow has for them."""
A_PICTURE = "a picture as JPEG, PNG, WebP or GIF"
"""What errors say that they expected."""
MOST_BYTES, MOST_PIXELS = 50 * 2**20, 50_000_000
"""A larger picture is refused: it would take more memory than it is worth. 50 million pixels take 150 MB."""
THUMBNAIL = 256
"""Pixels of the longer side of a thumbnail."""
_TO_8_BITS = 257
"""65,535, white in 16 bits, by 255."""
_ORIENTATION, _DESCRIPTION = 0x0112, 0x010E
_ON_ITS_SIDE = (5, 6, 7, 8)
"""Orientations of EXIF that swap width and height."""
_OF_WINDOWS = (0x9C9B, 0x9C9F, 0x9C9C)
"""Title, subject and comment, as the dialogs of Windows write them."""
_OF_IPTC = ((2, 5), (2, 105), (2, 120))
"""Title, headline and caption."""


def check_pillow(parameter: str = "picture") -> None:
    """Raise `InputError` that says what to install if pictures cannot be read here."""
    if find_spec("PIL") is None:
        raise InputError(parameter, f"the extra pictures: {how_to_install('pictures')}", "no Pillow")


@contextmanager
def _opened(source: PictureSource, parameter: str) -> Iterator["Image"]:
    """Open a picture, whose head is read, and say of any damage that is met what `read_picture` does."""
    check_pillow(parameter)
    from PIL import Image

    too_many = (Image.DecompressionBombWarning, Image.DecompressionBombError)
    try:
        with _readable(source) as file:
            if (size := file.seek(0, SEEK_END)) > MOST_BYTES:
                raise InputError(parameter, f"a picture of at most {MOST_BYTES:,} bytes", f"{size:,}")
            file.seek(0)
            opened = Image.open(file, formats=[*PICTURE_FORMATS])
            width, height = opened.size
            if width * height > MOST_PIXELS:
                raise InputError(parameter, f"a picture of at most {MOST_PIXELS:,} pixels", f"{width} × {height}")
            yield opened
    except InputError:
        raise
    except too_many as error:
        raise InputError(parameter, f"a picture of at most {MOST_PIXELS:,} pixels", "more") from error
    except MemoryError:
        raise
    except FileNotFoundError as error:
        raise InputError(parameter, "a file that is there", source) from error
    except Exception as error:  # a damaged file raises whatever its decoder runs into
        raise InputError(parameter, A_PICTURE, _said(error)) from error


def _readable(source: PictureSource) -> AbstractContextManager[BinaryIO]:
    if isinstance(source, Path):
        return source.open("rb")
    return BytesIO(source) if isinstance(source, bytes) else nullcontext(source)


def read_picture(source: PictureSource, parameter: str = "picture", at_least: int | None = None) -> "Image":
    """Return a picture in RGB, turned as its EXIF says.

    With `at_least` a JPEG may come back smaller, with sides of at least so many pixels: this is several times as fast.
    Raises `InputError` for anything else than a picture, a damaged one, and one of more than `MOST_BYTES` or
    `MOST_PIXELS`.
    """
    with _opened(source, parameter) as opened:
        from PIL import Image, ImageOps

        if at_least is not None:
            opened.draft("RGB", (at_least, at_least))
        turned = ImageOps.exif_transpose(opened)
        if turned.mode.startswith("I"):  # grey in 16 bits, of which Pillow would cut what is above 255
            turned = Image.fromarray((np.asarray(turned) // _TO_8_BITS).astype(np.uint8))
        return turned.convert("RGB")


def sound_content(source: PictureSource, parameter: str = "picture") -> bytes:
    """Return the bytes of a picture that can be read whole, as they are. Raises as `read_picture`."""
    read_picture(source, parameter, at_least=1)
    with _readable(source) as file:
        file.seek(0)
        return file.read()


class PictureFacts(NamedTuple):
    """Facts in the head of a picture: its size as people see it, and texts of titles and descriptions."""

    width: int
    height: int
    texts: list[str]


def picture_facts(source: PictureSource, parameter: str = "picture") -> PictureFacts:
    """Return what the head of a picture says, without reading the rest. Raises as `read_picture`."""
    with _opened(source, parameter) as opened:
        exif = opened.getexif()
        width, height = opened.size
        texts = [*_of_exif(exif), *_of_iptc(opened)]
    if exif.get(_ORIENTATION) in _ON_ITS_SIDE:
        width, height = height, width
    return PictureFacts(width, height, [text for text in (each.strip("\0 \n\r\t") for each in texts) if text])


def media_type_of(content: bytes) -> str | None:
    """Return the media type that the first bytes of a picture tell."""
    return next((each.media_type for each in PICTURE_FORMATS.values() if content.startswith(each.begins)), None)


def _of_exif(exif: Mapping[int, Any]) -> list[str]:
    said = [exif.get(_DESCRIPTION)]
    said += [bytes(found).decode("utf-16-le", "replace") for tag in _OF_WINDOWS if (found := exif.get(tag))]
    return [text for text in said if isinstance(text, str)]


def _of_iptc(opened: Any) -> list[str]:
    from PIL import IptcImagePlugin

    found = IptcImagePlugin.getiptcinfo(opened) or {}
    return [said.decode("utf-8", "replace") for key in _OF_IPTC if isinstance(said := found.get(key), bytes)]


def thumbnail_of(source: PictureSource, pixels: int = THUMBNAIL, parameter: str = "picture") -> bytes:
    """Return a picture as a JPEG whose longer side has at most so many pixels. Raises as `read_picture`."""
    picture = read_picture(source, parameter, at_least=pixels)
    picture.thumbnail((pixels, pixels))
    written = BytesIO()
    picture.save(written, "JPEG", quality=85)
    return written.getvalue()


def _said(error: Exception) -> str:
    return "something else" if type(error).__name__ == "UnidentifiedImageError" else f"a damaged one: {error}"
