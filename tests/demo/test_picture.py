import numpy as np
import pytest

from hubless.demo.measuring import Ranking
from hubless.demo.picture import draw
from hubless.errors import StorageError


def ranking(name, occurrence):
    return Ranking(name, {}, np.array(occurrence))


RAW, CORRECTED = ranking("raw", [200, 60, 20, 0, 0, 0, 20]), ranking("auto", [50, 40, 40, 40, 40, 40, 50])


def test_picture_says_how_often_the_largest_is_found_and_how_many_never(tmp_path):
    draw(RAW, CORRECTED, tmp_path / "new" / "picture.svg")
    text = (tmp_path / "new" / "picture.svg").read_text("utf-8")
    assert "raw: up to 200 times, 3 never" in text
    assert "corrected (auto): up to 50 times, 0 never" in text
    assert "How often 30 questions find each function" in text


def test_folder_that_cannot_be_made_is_a_storage_error_that_names_it(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file"):
        draw(RAW, CORRECTED, tmp_path / "file" / "picture.svg")
