"""Pairs in ONNX: texts and pictures share a space."""

import numpy as np
import pytest
from PIL import Image
from support.hubs import unit
from support.made_pictures import made
from support.model_folders import load_model
from support.model_pairs import PREPROCESSING, ROWS, load_pair, picture_graph, text_graph, write_pair
from support.onnx_bytes import INT32
from support.onnx_folders import write_onnx
from support.photos import COLOURS, DIM

from hubless.encoders import for_pictures, load_encoder
from hubless.errors import EncoderFailed, InputError, NoEncoder

LARGER = PREPROCESSING | {"size": 8, "do_center_crop": False}
PAIRS = [
    ("text_model.onnx", "vision_model.onnx"),
    ("onnx/text_model_quantized.onnx", "onnx/vision_model_quantized.onnx"),
    ("textual.onnx", "visual.onnx"),
    ("textual/model.onnx", "visual/model.onnx"),
    ("text_model_fp16.onnx", "vision_model_int8.onnx"),
]


def pictures(folder, count=5):
    for number in range(count):
        made(number).save(folder / f"{number}.png")
    return sorted(folder.glob("*.png"))


def solid(folder, colour):
    file = folder / f"{colour}.png"
    Image.new("RGB", (20, 30), colour).save(file)
    return file


def encoded(encoder, files):
    return encoder.encode_pictures([encoder.picture_input(file) for file in files])


@pytest.mark.parametrize(("texts", "graph"), PAIRS)
def test_pair_is_found_and_words_find_their_pictures(tmp_path, texts, graph):
    encoder = load_pair(write_pair(tmp_path, texts, graph))
    encoder.check()
    encoder.check_pictures()
    found = encoded(for_pictures(encoder), [solid(tmp_path, colour) for colour in COLOURS])
    asked = encoder.encode(list(COLOURS))
    np.testing.assert_allclose(np.linalg.norm(np.vstack([found, asked]), axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal((asked @ found.T).argmax(axis=1), np.arange(len(COLOURS)))


def test_given_file_brings_the_other_half_of_its_kind(tmp_path):
    write_pair(tmp_path)
    halved = text_graph(), picture_graph(dim=DIM - 1)
    write_pair(tmp_path, "text_model_int8.onnx", "vision_model_int8.onnx", graphs=halved)
    load_pair(tmp_path).check_pictures()
    with pytest.raises(InputError, match=f"a graph of pictures of {DIM} dimensions, got .* with {DIM - 1}"):
        load_pair(tmp_path, file="text_model_int8.onnx").check_pictures()
    load_pair(tmp_path, file="text_model_int8.onnx", picture_file="vision_model.onnx").check_pictures()


def test_vector_of_a_picture_is_the_same_to_the_bit_in_any_batch(tmp_path):
    encoder, files = load_pair(write_pair(tmp_path)), pictures(tmp_path)
    alone = np.concatenate([encoded(encoder, [file]) for file in files])
    np.testing.assert_array_equal(encoded(encoder, files), alone)
    np.testing.assert_array_equal(encoded(encoder, files[::-1])[::-1], alone)
    assert encoded(encoder, []).shape == (0, DIM)


def test_vectors_keep_their_length_if_the_description_says_so(tmp_path):
    write_pair(tmp_path)
    file = solid(tmp_path, "red")
    np.testing.assert_allclose(encoded(load_pair(tmp_path, normalize=False), [file])[0], [1, 0, 0] * 4, atol=1e-6)
    np.testing.assert_allclose(encoded(load_pair(tmp_path), [file])[0], [0.5, 0, 0] * 4, atol=1e-6)


@pytest.mark.parametrize(
    ("graph", "configs", "padding"),
    [
        (text_graph(), {}, 0),  # as wide as the text
        (text_graph(), {"config": {"model_type": "siglip", "text_config": {"max_position_embeddings": 6}}}, 3),
        (text_graph(width=5), {}, 2),
        (text_graph(INT32, inputs=("text",), width=5, batch=1), {}, 2),
        (
            text_graph(width=2),
            {"tokenizer_config": {"pad_token": "</s>", "model_max_length": 9}},
            -1,
        ),  # the last word is cut off
    ],
)
def test_texts_are_padded_as_the_model_was_trained(tmp_path, graph, configs, padding):
    configs = {"tokenizer_config": {"pad_token": {"content": "</s>"}}} | configs
    encoder = load_pair(write_pair(tmp_path, graphs=(graph, picture_graph()), **configs), batch=2)
    encoder.check()
    words = [3, 5] if padding >= 0 else [3]
    wanted = unit(ROWS[[2, *words, *[1] * max(0, padding)]].sum(axis=0)[None])[0]
    found = encoder.encode(["red blue", "red blue", "red blue"])
    np.testing.assert_allclose(found, [wanted] * 3, atol=1e-6)


def test_texts_alone_do_without_pictures(tmp_path):
    encoder = load_pair(write_pair(tmp_path, pictures=None, preprocessor_config=None))
    encoder.check()
    for ask in (encoder.check_pictures, lambda: encoder.picture_input(b"")):
        with pytest.raises(NoEncoder, match="picture: expected a collection whose encoder takes pictures"):
            ask()


def test_encoders_of_texts_take_no_pictures(tmp_path):
    encoder = load_model("onnx", write_onnx(tmp_path))
    encoder.check()
    with pytest.raises(NoEncoder):
        encoder.check_pictures()
    with pytest.raises(NoEncoder):
        for_pictures(load_encoder(tmp_path, 8, {"type": "static", "path": "."}))
    with pytest.raises(NoEncoder):
        for_pictures(None)


def test_bad_pictures_are_refused_by_name(tmp_path):
    encoder = load_pair(write_pair(tmp_path))
    (tmp_path / "bad.jpg").write_bytes(b"nothing")
    with pytest.raises(InputError, match="image: expected a picture as JPEG"):
        encoder.picture_input(tmp_path / "bad.jpg", "image")


@pytest.mark.parametrize(
    ("graph", "configs", "problem"),
    [
        (picture_graph(), {"preprocessor_config": LARGER}, "a graph that takes 8 × 8 pixels, got .*vision_model.onnx"),
        (picture_graph()[:99], {}, "a graph that onnxruntime can load"),
        (text_graph(), {}, "a graph whose only input is a picture, got .* with input_ids"),
        (picture_graph(), {"preprocessor_config": None}, "a folder with preprocessor_config.json"),
        (picture_graph(), {"preprocessor_config": PREPROCESSING | {"do_pad": True}}, "the preprocessing of pictures"),
    ],
)
def test_wrong_half_is_named_by_the_check_and_hidden_from_clients(tmp_path, graph, configs, problem):
    encoder = load_pair(write_pair(tmp_path, graphs=(text_graph(), graph), **configs))
    with pytest.raises(InputError, match=f"encoder, path: expected {problem}"):
        encoder.check_pictures()
    with pytest.raises(EncoderFailed, match="the log of the server says why") as failed:
        encoder.picture_input(b"")
    assert str(tmp_path) not in str(failed.value)
    encoder.check()  # texts do without


def test_damaged_half_of_texts_is_named(tmp_path):
    write_pair(tmp_path, graphs=(text_graph(inputs=("input_ids", "position_ids")), picture_graph()))
    with pytest.raises(InputError, match=r"a graph with the inputs input_ids, .* with input_ids, position_ids"):
        load_pair(tmp_path).check()
