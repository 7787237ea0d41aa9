"""Models in ONNX: onnxruntime runs small graphs that are written here, byte by byte."""

from functools import partial

import numpy as np
import pytest
from support import model_folders, small
from support.hubs import unit
from support.model_folders import ROWS, SPECIAL, tokens, write_json, write_modules
from support.onnx_bytes import INT32
from support.onnx_folders import graph, hidden, write_onnx

from hubless.errors import InputError

TEXTS = ["amber", "birch cedar birch", "delta nonsense ember fjord amber"]
load = partial(model_folders.load_model, "onnx")


def of_tokens(text, most=None):
    """The vectors of a text's tokens, computed for this text alone."""
    words = tokens(text)[: None if most is None else most - 2]
    return hidden([SPECIAL["cls"], *words, SPECIAL["sep"]])


def means(texts, most=None):
    return np.array([of_tokens(text, most).mean(axis=0) for text in texts])


@pytest.mark.parametrize("batch", [1, 2, 32])
@pytest.mark.parametrize(
    ("config", "pool"),
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, lambda found: found.mean(axis=0)),
        ({"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}, lambda found: found[0]),
        ({"pooling_mode_lasttoken": True}, lambda found: found[-1]),
        ({"pooling_mode": "cls"}, lambda found: found[0]),
        ({"pooling_mode": ["mean"]}, lambda found: found.mean(axis=0)),
    ],
)
def test_tokens_are_pooled_as_the_models_own_file_says_in_any_batch(tmp_path, config, pool, batch):
    write_json(write_onnx(tmp_path) / "1_Pooling" / "config.json", config)
    encoder = load(tmp_path, batch=batch)
    encoder.check()
    np.testing.assert_allclose(encoder.encode(TEXTS), [pool(of_tokens(text)) for text in TEXTS], atol=1e-5)


@pytest.mark.parametrize(
    ("modules", "fields", "normalised"),
    [
        (("Transformer", "Pooling"), {}, False),
        (("Transformer", "Pooling", "Normalize"), {}, True),
        (("Transformer", "Pooling", "Normalize"), {"normalize": False}, False),
        ((), {"normalize": True}, True),
    ],
)
def test_vectors_have_length_one_if_the_model_or_the_description_says_so(tmp_path, modules, fields, normalised):
    found = load(write_onnx(tmp_path, modules=modules), **fields).encode(TEXTS)
    np.testing.assert_allclose(found, unit(means(TEXTS)) if normalised else means(TEXTS), atol=1e-5)


@pytest.mark.parametrize(
    ("configs", "fields", "most"),
    [
        ({"sentence_bert_config": {"max_seq_length": 5}}, {}, 5),
        ({"sentence_bert_config": {"max_seq_length": 5}}, {"max_seq_length": 4}, 4),
        ({"tokenizer_config": {"model_max_length": 6}, "config": {"max_position_embeddings": 7}}, {}, 6),
        ({"tokenizer_config": {"model_max_length": 1e30}, "config": {"max_position_embeddings": 7}}, {}, 7),
        ({"tokenizer_config": {"model_max_length": 1e30}}, {}, None),
    ],
)
def test_long_text_is_cut_where_the_model_says(tmp_path, configs, fields, most):
    text = " ".join(small.WORDS * 3)
    found = load(write_onnx(tmp_path, **configs), **fields).encode([text])
    np.testing.assert_allclose(found, means([text], most), atol=1e-5)


def test_prompt_is_the_models_own_for_queries_unless_another_is_given(tmp_path):
    write_onnx(tmp_path, config_sentence_transformers={"prompts": {"query": "amber ", "document": "birch "}})
    np.testing.assert_allclose(load(tmp_path).encode(["fjord"]), means(["amber fjord"]), atol=1e-5)
    np.testing.assert_allclose(load(tmp_path, prompt="cedar ").encode(["fjord"]), means(["cedar fjord"]), atol=1e-5)
    np.testing.assert_allclose(load(tmp_path, prompt="").encode(["fjord"]), means(["fjord"]), atol=1e-5)


def test_vectors_that_the_graph_pools_itself_are_taken_as_they_are(tmp_path):
    write_onnx(tmp_path, data=graph(pooled=True), pooling=None, modules=("Transformer", "Pooling", "Dense"))
    wanted = [ROWS[[SPECIAL["cls"], *tokens(text), SPECIAL["sep"]]].sum(axis=0) for text in TEXTS]
    np.testing.assert_allclose(load(tmp_path).encode(TEXTS), wanted, atol=1e-5)
    with pytest.raises(InputError, match="encoder, pooling: expected no pooling, because the graph pools by itself"):
        load(tmp_path, pooling="cls").check()


@pytest.mark.parametrize(
    ("file", "fields"), [("onnx/model.onnx", {}), ("onnx/model_int8.onnx", {"file": "onnx/model_int8.onnx"})]
)
def test_graph_is_found_where_exporters_put_it_or_where_the_description_says(tmp_path, file, fields):
    write_onnx(tmp_path, file=file, data=graph(INT32))
    np.testing.assert_allclose(load(tmp_path, **fields, threads=1).encode(TEXTS), means(TEXTS), atol=1e-5)


def smaller_table(folder):
    # a graph that fails for the tokens of this tokeniser
    written = (folder / "tokenizer.json").read_text().replace('"[CLS]": 2', '"[CLS]": 99')
    written = written.replace('"ids": [\n          2\n', '"ids": [\n          99\n')
    (folder / "tokenizer.json").write_text(written)


def prompt_left_out(folder):
    pooling(pooling_mode_mean_tokens=True, include_prompt=False)(folder)
    write_json(folder / "config_sentence_transformers.json", {"prompts": {"query": "amber "}})


def pooling(**config):
    return lambda folder: write_json(folder / "1_Pooling" / "config.json", config)


def without(name):
    return lambda folder: (folder / name).unlink()


INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (without("model.onnx"), "path: expected a folder with model.onnx, got .*, which does not exist"),
        (lambda folder: (folder / "model.onnx").write_bytes(graph()[:200]), "path: .* that onnxruntime can load"),
        (lambda folder: write_onnx(folder, data=graph(inputs=INPUTS)), "path: .* with the inputs.*position_ids"),
        (smaller_table, "path: expected a graph that takes tokens, got .*model.onnx: "),
        (lambda folder: write_modules(folder, ["Transformer", "Pooling", "Dense"]), "path: .*modules.json has Dense"),
        (without("1_Pooling/config.json"), "pooling: expected one of .* the folder has no 1_Pooling/config.json"),
        (pooling(pooling_mode_mean_tokens=True, pooling_mode_max_tokens=True), "path: .* with max, mean"),
        (prompt_left_out, "path: expected a model that pools its prompt too"),
    ],
)
def test_model_that_would_give_other_vectors_is_refused_before_a_build(tmp_path, damage, problem):
    damage(write_onnx(tmp_path))
    with pytest.raises(InputError, match=f"encoder, {problem}"):
        load(tmp_path).check()
