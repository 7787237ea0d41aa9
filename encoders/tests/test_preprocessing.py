"""Pictures become the arrays that the models were trained on.

`golden/preprocessing.json` has what the slow processors of transformers 4.57.6 with Pillow 13.0.0 made of the 20
pictures of `support.made_pictures`, by four configurations: nine places of each array, rounded to four places. The
whole arrays of ours differ from theirs by at most 5e-7.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.made_pictures import made
from support.model_folders import write_json

from hubless.errors import InputError
from hubless_encoders.preprocessing import read_preprocessing

GOLDEN = json.loads((Path(__file__).parent / "golden" / "preprocessing.json").read_text())
OPEN_CLIP = {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4]}


def steps(folder, config, name="preprocessor_config"):
    write_json(folder / f"{name}.json", config)
    return read_preprocessing(folder)


@pytest.mark.parametrize("name", GOLDEN)
def test_arrays_are_those_of_transformers_slow_processors(tmp_path, name):
    """At nine places of each of 20 pictures: the middle, the corners, and the middles of the sides."""
    golden = GOLDEN[name]
    found = steps(tmp_path, golden["config"])
    for number, numbers in enumerate(golden["numbers"]):
        array = found.array(made(number).convert("RGB"))
        assert list(array.shape) == golden["shape"]
        rows, columns = (np.linspace(0, size - 1, 3).astype(int) for size in array.shape[1:])
        np.testing.assert_allclose(array[:, rows][:, :, columns].ravel(), numbers, atol=1e-3, rtol=0)


def test_sizes_of_old_files_are_numbers(tmp_path):
    for crops in (True, False):
        config = {"size": 8, "do_center_crop": crops, "do_normalize": False}
        array = steps(tmp_path, config | ({"crop_size": 8} if crops else {})).array(Image.new("RGB", (30, 20)))
        assert array.shape == (3, 8, 8)
    halves = Image.new("RGB", (40, 20))
    halves.paste((255, 255, 255), (0, 0, 10, 20))  # gone where the centre is cut out, there where all is squeezed
    for crops, brightest in ((True, 0), (False, 1)):
        config = {"size": 8, "do_center_crop": crops, "crop_size": 8, "do_normalize": False, "resample": 0}
        assert steps(tmp_path, config).array(halves).max() == brightest


@pytest.mark.parametrize(
    ("file", "more"),
    [
        ("preprocess_cfg", {"size": [6, 6], "resize_mode": "shortest", "interpolation": "nearest"}),
        ("preprocess_cfg", {"size": 6, "interpolation": "nearest"}),
        ("open_clip_config", None),
    ],
)
def test_files_of_open_clip_are_read_and_crops_round_to_even(tmp_path, file, more):
    flat = OPEN_CLIP | (more or {"interpolation": "nearest"})
    vision = {"vision_cfg": {"image_size": 6}}
    found = steps(tmp_path, {"model_cfg": vision, "preprocess_cfg": flat} if more is None else flat, file)
    pixels = np.zeros((6, 9, 3), np.uint8)
    pixels[:, :, 0] = np.arange(9) * 20
    array = found.array(Image.fromarray(pixels))
    # 3 columns are too many; half of them is 1.5, which rounds to 2
    np.testing.assert_allclose(array[0, 0], (np.arange(2, 8) * 20 / 255 - 0.5) / 0.2, atol=1e-5)
    np.testing.assert_allclose(array[2, 0], -0.3 / 0.4, atol=1e-6)


def test_squashed_pictures_keep_no_shape(tmp_path):
    found = steps(tmp_path, OPEN_CLIP | {"size": 6, "resize_mode": "squash"}, "preprocess_cfg")
    assert found.array(Image.new("RGB", (30, 10))).shape == (3, 6, 6)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({}, "size, crop, mean and deviation, got .*KeyError"),
        ({"size": {"longest_edge": 8}}, "a size with longest_edge"),
        ({"size": {"height": 8}}, "a size with height"),
        ({"size": 10**9, "image_mean": [0, 0, 0], "image_std": [1, 1, 1]}, "1000000000 as a number of pixels"),
        ({"size": 8, "image_mean": [0.5], "image_std": [1, 1, 1]}, "1 numbers for three channels"),
        ({"size": 8, "do_pad": True}, "it also has do_pad"),
        ({"size": 8, "crop_pct": 0.9}, "it also has crop_pct"),
        ({"size": "large"}, "'large' as a number"),
        ([], "a JSON file with an object"),
    ],
)
def test_other_steps_are_refused(tmp_path, config, problem):
    with pytest.raises(InputError, match=f"encoder, path: expected .*{problem}"):
        steps(tmp_path, config)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"a folder with preprocessor_config\.json or"):
        read_preprocessing(tmp_path)
    with pytest.raises(InputError, match="resize_mode longest"):
        steps(tmp_path, OPEN_CLIP | {"size": 6, "resize_mode": "longest"}, "preprocess_cfg")
