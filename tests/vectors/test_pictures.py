"""Pictures come in many forms, and strangers send them."""

import struct
import sys
import zlib
from contextlib import suppress
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from PIL import Image

from hubless.errors import InputError, how_to_install
from hubless.vectors.readers import pictures
from hubless.vectors.readers.pictures import read_picture, thumbnail_of

LOSSLESS = [("PNG", {}), ("WEBP", {"lossless": True})]
ORIENTATION = 0x0112


def some(width=40, height=30):
    """A picture whose left half is red and whose right half is blue."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[:, : width // 2, 0] = pixels[:, width // 2 :, 2] = 200
    return Image.fromarray(pixels)


def written(picture, format, **options):
    file = BytesIO()
    picture.save(file, format, **options)
    return file.getvalue()


def png_of(width, height):
    """The head of a PNG that says that it is so large."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.parametrize(("format", "options"), LOSSLESS)
def test_lossless_pictures_come_back_as_they_were(format, options):
    np.testing.assert_array_equal(read_picture(written(some(), format, **options)), some())


def test_jpeg_comes_back_nearly_so(tmp_path):
    path = tmp_path / "one.jpg"
    path.write_bytes(written(some(), "JPEG", quality=95, subsampling=0))
    assert np.abs(np.asarray(read_picture(path), int) - np.asarray(some(), int)).max() < 12


def test_gif_gives_its_first_frame():
    frames = [Image.new("RGB", (8, 8), color) for color in ("red", "lime")]
    gif = written(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert np.unique(np.asarray(read_picture(gif)).reshape(-1, 3), axis=0).tolist() == [[255, 0, 0]]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA"])
def test_other_modes_become_rgb(mode):
    assert read_picture(written(some().convert(mode), "PNG")).mode == "RGB"


@pytest.mark.parametrize("read", [read_picture, lambda given: Image.open(BytesIO(thumbnail_of(given)))])
def test_grey_of_16_bits_keeps_its_shades(read):
    ramp = np.tile(np.linspace(0, 65_535, 64), (64, 1)).astype(np.uint16)
    shades = np.asarray(read(written(Image.fromarray(ramp), "PNG")), int)[..., 0]
    assert np.abs(shades - ramp // 257).max() < 4


def test_picture_is_turned_as_its_exif_says():
    exif = Image.Exif()
    exif[ORIENTATION] = 6  # shown after a quarter turn to the right
    turned = read_picture(written(some(), "PNG", exif=exif))
    assert turned.size == (30, 40)
    assert turned.getpixel((15, 2)) == (200, 0, 0)
    assert turned.getpixel((15, 37)) == (0, 0, 200)


def test_drafts_are_at_least_as_large_as_asked():
    jpeg = written(some(2000, 1500), "JPEG")
    draft = read_picture(jpeg, at_least=200)
    assert 200 <= min(draft.size) < 1500


def test_thumbnails_keep_the_shape_and_grow_nothing():
    assert Image.open(BytesIO(thumbnail_of(written(some(400, 300), "PNG"), 100))).size == (100, 75)
    assert Image.open(BytesIO(thumbnail_of(written(some(40, 30), "PNG"), 100))).size == (40, 30)


@pytest.mark.parametrize("bad", [b"", b"GIF", b"<svg xmlns='http://www.w3.org/2000/svg'/>", written(some(), "BMP")])
def test_what_is_no_picture_is_refused(bad):
    with pytest.raises(InputError, match=r"^image: expected a picture as JPEG, PNG, WebP or GIF, got something else$"):
        read_picture(bad, "image")


@pytest.mark.parametrize(("width", "height"), [(8000, 6251), (9500, 9500), (40_000, 40_000)])
def test_bombs_are_refused_by_their_heads(width, height):
    with pytest.raises(InputError, match="picture of at most 50,000,000 pixels"):
        read_picture(png_of(width, height))


def test_files_that_are_too_large_are_not_read(monkeypatch, tmp_path):
    path = tmp_path / "large.png"
    path.write_bytes(png := written(some(), "PNG"))
    monkeypatch.setattr(pictures, "MOST_BYTES", len(png) - 1)
    for source in (png, path):
        with pytest.raises(InputError, match=f"at most {len(png) - 1} bytes, got {len(png)}"):
            read_picture(source)


@settings(max_examples=60)
@given(st.data())
def test_damage_is_refused_or_read_and_nothing_else(data):
    whole = data.draw(st.sampled_from([written(some(), name) for name in pictures.PICTURE_FORMATS]))
    place = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.binary(max_size=4))
    cut = data.draw(st.booleans())
    with suppress(InputError):
        assert read_picture(whole[:place] + other + (b"" if cut else whole[place + len(other) :])).mode == "RGB"


def test_missing_files_are_named(tmp_path):
    with pytest.raises(InputError, match=r"^picture: expected a file that is there, got .*none.png$"):
        read_picture(tmp_path / "none.png")


def test_without_pillow_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(InputError, match=f"the extra pictures: {how_to_install('pictures')}"):
        read_picture(b"")
