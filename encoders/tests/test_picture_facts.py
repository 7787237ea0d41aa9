"""What the head of a picture says is read without its pixels, and what is too large is refused by it."""

import pytest
from PIL import Image, ImageFile
from support.bombs import BOMBS
from support.model_pairs import load_pair, write_pair
from support.photos import solid

import hubless
from hubless.deadline import within
from hubless.errors import InputError, PictureTimeout
from hubless_encoders.embedding.picture_facts import picture_facts


@pytest.mark.parametrize("orientation", range(1, 9))
def test_size_is_that_of_the_picture_as_it_is_turned(tmp_path, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.new("RGB", (40, 30)).save(tmp_path / "a.png", exif=exif)
    assert picture_facts(tmp_path / "a.png")[:2] == ((40, 30) if orientation < 5 else (30, 40))


def test_nothing_is_read_when_time_is_over():
    with within(0), pytest.raises(PictureTimeout):
        picture_facts(solid("red"))


@pytest.mark.parametrize("name", BOMBS)
def test_bomb_is_refused_by_its_head_and_what_is_beside_it_is_embedded(name, tmp_path, monkeypatch):
    load = ImageFile.ImageFile.load
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda self: load(self) if self.width < 100 else 1 / 0)
    content, said = BOMBS[name]
    with pytest.raises(InputError) as refused:
        picture_facts(content)
    assert said in str(refused.value)
    source = tmp_path / "source"
    source.mkdir()
    (source / "bomb.png").write_bytes(content)
    (source / "red.png").write_bytes(solid("red"))
    made = hubless.embed(source, load_pair(write_pair(tmp_path / "pair")), tmp_path / "out")
    assert said in made.skipped_file.read_text()
    assert made.count == 1
