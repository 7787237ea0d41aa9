"""Pictures: JPEG, PNG, WebP and the first frame of a GIF. Pillow is an extra, and is imported when the first comes."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np

from hubless.deadline import left
from hubless.errors import HublessError, InputError, PictureTimeout, how_to_install

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile


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
"""A larger one is refused by its head: it would take more memory than it is worth. 50 million pixels take 200 MB."""
_FEWER_PIXELS = {"WEBP": 20_000_000} | dict.fromkeys(("CMYK", "RGBA", "LA"), 40_000_000)
"""Most pixels of formats and modes that take more memory: WebP takes 16 bytes a pixel, and inks or alpha may take 8."""
MOST_ASPECT = 200
"""Longer side by shorter side. To bring a line of pixels to the height of a model would take all memory."""
THUMBNAIL = 256
"""Pixels of the longer side of a thumbnail."""
_READS, _BYTES_A_READ = 1000, 100
"""A file may have so many parts, and another for so many bytes. Millions of small ones would take many seconds."""
_SCANS, _SCAN = 100, b"\xff\xda"
"""A JPEG may have so many scans, each of which begins so: one of 50 bytes goes over all pixels again."""
_BLOCK = 2**26
"""Bytes that Pillow asks for at a time: beyond 32 MiB malloc gives them back, and keeps less for later."""
_STRIP = 2**20
"""Pixels that are brought to RGB at a time."""
_TO_8_BITS = 257
"""65,535, white in 16 bits, by 255."""
ORIENTATION = 0x0112
_TURNS: dict[Any, Any] = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}
"""Orientations of EXIF, and the transpositions of Pillow that undo them."""


def check_pillow(parameter: str = "picture") -> None:
    """Raise `InputError` that says what to install if pictures cannot be read here."""
    if find_spec("PIL") is None:
        raise InputError(parameter, f"the extra pictures: {how_to_install('pictures')}", "no Pillow")


class _Watched:
    """A file that ends a decoder, which nothing interrupts, when time is over or there are too many parts to read."""

    def __init__(self, file: BinaryIO, parameter: str) -> None:
        self._file = file
        self._parameter = parameter
        if (size := file.seek(0, SEEK_END)) > MOST_BYTES:
            raise InputError(parameter, f"a picture of at most {MOST_BYTES:,} bytes", f"{size:,}")
        self._reads = _READS + size // _BYTES_A_READ
        self.seek = file.seek
        self.tell = file.tell
        file.seek(0)
        self._scans = _SCANS if file.read(2) == PICTURE_FORMATS["JPEG"].begins else size
        file.seek(0)

    def read(self, size: int = -1) -> bytes:
        _check_time()
        found = self._file.read(size)
        self._reads -= 1
        self._scans -= found.count(_SCAN)
        if min(self._reads, self._scans) < 0:
            raise InputError(self._parameter, A_PICTURE, "one of too many parts")
        return found


@contextmanager
def opened_picture(source: PictureSource, parameter: str) -> Iterator["ImageFile"]:
    """Open a picture, whose head is read and checked, and say of any damage that is met what `read_picture` does."""
    check_pillow(parameter)
    from PIL import Image

    too_many = (Image.DecompressionBombWarning, Image.DecompressionBombError)
    try:
        with _readable(source) as file:
            pillow: Any = Image  # whose types leave out `core`
            pillow.core.set_block_size(_BLOCK)
            watched: Any = _Watched(file, parameter)
            opened = Image.open(watched, formats=[*PICTURE_FORMATS])
            _check_shape(opened, parameter)
            yield opened
    except too_many as error:
        raise InputError(parameter, f"a picture of at most {MOST_PIXELS:,} pixels", "more") from error
    except (HublessError, MemoryError):
        raise
    except FileNotFoundError as error:
        raise InputError(parameter, "a file that is there", source) from error
    except Exception as error:  # a damaged file raises whatever its decoder runs into
        unknown = type(error).__name__ == "UnidentifiedImageError"
        raise InputError(parameter, A_PICTURE, "something else" if unknown else f"a damaged one: {error}") from error


def _readable(source: PictureSource) -> AbstractContextManager[BinaryIO]:
    if isinstance(source, Path):
        return source.open("rb")
    return BytesIO(source) if isinstance(source, bytes) else nullcontext(source)


def _check_shape(opened: "ImageFile", parameter: str) -> None:
    width, height = opened.size
    most = min(_FEWER_PIXELS.get(each, MOST_PIXELS) for each in (opened.format or "", opened.mode))
    if width * height > most:
        raise InputError(parameter, f"a picture of at most {most:,} pixels", f"{width} × {height}")
    if max(opened.size) > MOST_ASPECT * min(opened.size):
        expected = f"sides of which one is at most {MOST_ASPECT} times as long as the other"
        raise InputError(parameter, expected, f"{width} × {height}")


def _check_time() -> None:
    if not left(1.0):
        raise PictureTimeout("A picture could not be read in the time that was left.")


def pixels_of(source: PictureSource, parameter: str = "picture") -> int:
    """Return how many pixels the head of a picture says that it has: what it weighs. Raises as `read_picture`."""
    with opened_picture(source, parameter) as opened:
        return opened.width * opened.height


def read_picture(
    source: PictureSource,
    parameter: str = "picture",
    at_least: int = MOST_PIXELS,
    side: Callable[[tuple[int, int]], int] = min,
) -> "Image":
    """Return a picture in RGB, turned as its EXIF says, and with nothing else of what its head says.

    With `at_least` it may come back smaller by a whole factor, with so many pixels of a side, the shorter one if not
    given: a JPEG is several times as fast then, and all take less memory.
    Raises `InputError` for anything else than a picture, a damaged one, and one of more than `MOST_BYTES`,
    `MOST_PIXELS` or `MOST_ASPECT`; `PictureTimeout` at a deadline that is set around it.
    """
    with opened_picture(source, parameter) as opened:
        factor = max(1, side(opened.size) // at_least)
        opened.draft("RGB", (opened.width // factor, opened.height // factor))
        opened.load()
        turn = _TURNS.get(exif_of(opened).get(ORIENTATION))
        picture = _in_rgb(opened, max(1, side(opened.size) // at_least))
        return picture if turn is None else picture.transpose(turn)


def _in_rgb(picture: "Image", factor: int) -> "Image":
    """Return a picture in RGB, each side smaller by a factor. Strips are brought there, as copies would take memory."""
    from PIL import Image

    if (factor, picture.mode) == (1, "RGB"):
        picture.info = {}
        return picture
    width, height = picture.size
    found = Image.new("RGB", (-(-width // factor), -(-height // factor)))
    rows = factor * max(1, _STRIP // (factor * width))
    for top in range(0, height, rows):
        _check_time()
        strip = picture.crop((0, top, width, min(top + rows, height)))
        if strip.mode.startswith("I"):  # grey in 16 bits, of which Pillow would cut what is above 255
            strip = Image.fromarray((np.asarray(strip) // _TO_8_BITS).astype(np.uint8))
        found.paste(strip.convert("RGB").reduce(factor), (0, top // factor))
    return found


def sound_content(source: PictureSource, parameter: str = "picture") -> bytes:
    """Return the bytes of a picture that can be read whole, as they are. Raises as `read_picture`."""
    read_picture(source, parameter, THUMBNAIL)
    with _readable(source) as file:
        file.seek(0)
        return file.read()


def media_type_of(content: bytes) -> str | None:
    """Return the media type that the first bytes of a picture tell."""
    return next((each.media_type for each in PICTURE_FORMATS.values() if content.startswith(each.begins)), None)


def exif_of(opened: "ImageFile") -> Mapping[int, Any]:
    """Return the EXIF that was read. A PNG asked itself would be decoded, as some have theirs behind the pixels."""
    from PIL.Image import Image

    return Image.getexif(opened)


def thumbnail_of(source: PictureSource, pixels: int = THUMBNAIL) -> bytes:
    """Return a picture as a JPEG whose longer side has at most so many pixels. Raises as `read_picture`."""
    picture = read_picture(source, "picture", pixels, max)
    picture.thumbnail((pixels, pixels))
    written = BytesIO()
    picture.save(written, "JPEG", quality=85)
    return written.getvalue()
