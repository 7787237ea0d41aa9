"""Pictures come in many forms, and strangers send them."""

import re
import sys
from contextlib import suppress
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from PIL import Image, ImageOps

from hubless.deadline import within
from hubless.errors import InputError, PictureTimeout, how_to_install
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


@pytest.mark.parametrize("orientation", range(1, 9))
def test_picture_is_turned_as_its_exif_says(orientation):
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    png = written(some(), "PNG", exif=exif)
    turned = read_picture(png)
    np.testing.assert_array_equal(turned, ImageOps.exif_transpose(Image.open(BytesIO(png))))


def test_thumbnails_keep_the_shape_and_grow_nothing():
    assert Image.open(BytesIO(thumbnail_of(written(some(400, 300), "PNG"), 100))).size == (100, 75)
    assert Image.open(BytesIO(thumbnail_of(written(some(40, 30), "PNG"), 100))).size == (40, 30)


@pytest.mark.parametrize("bad", [b"", b"GIF", b"<svg xmlns='http://www.w3.org/2000/svg'/>", written(some(), "BMP")])
def test_what_is_no_picture_is_refused(bad):
    with pytest.raises(InputError, match=r"^image: expected a picture as JPEG, PNG, WebP or GIF, got something else$"):
        read_picture(bad, "image")


def test_scans_that_go_over_all_pixels_again_and_again_are_refused():
    jpeg = written(some(), "JPEG", progressive=True)
    with pytest.raises(InputError, match="got one of too many parts"):
        read_picture(jpeg + 100 * b"\xff\xda")


def test_nothing_is_read_when_time_is_over():
    for read in (read_picture, thumbnail_of):
        with within(0), pytest.raises(PictureTimeout):
            read(written(some(), "PNG"))


@pytest.mark.parametrize(
    ("mode", "format"), [("L", "PNG"), ("RGBA", "PNG"), ("P", "GIF"), ("RGB", "WEBP"), ("RGB", "JPEG")]
)
def test_large_pictures_become_smaller_while_they_are_read(mode, format):
    small = read_picture(written(some(3000, 2500).convert(mode), format), at_least=250)
    assert small.mode == "RGB"
    assert 250 <= small.height < 500
    half = np.asarray(small.resize((2, 1), Image.Resampling.BOX), int)[0]
    assert np.abs(half - np.asarray(some(2, 1).convert(mode).convert("RGB"), int)[0]).max() < 12


def test_thumbnails_hold_pixels_and_nothing_of_the_head():
    exif = Image.Exif()
    exif[0x010E] = "at home"
    beside = {"exif": exif, "comment": b"at home", "icc_profile": b"at home" * 20, "xmp": b"<x>at home</x>"}
    assert b"at home" not in thumbnail_of(written(some(), "JPEG", **beside))


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
    with pytest.raises(InputError, match=f"the extra pictures: {re.escape(how_to_install('pictures'))}"):
        read_picture(b"")
