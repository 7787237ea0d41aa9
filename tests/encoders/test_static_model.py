from functools import partial

import numpy as np
import pytest
from support import small
from support.hubs import unit
from support.model_folders import ROWS, WORDS, load_model, tokeniser, tokens, write_modules, write_static
from tokenizers import models

from hubless.errors import InputError, UnknownWords

TEXTS = ["amber", "birch cedar birch", "delta nonsense ember", "fjord " * 40]
WEIGHTS = np.linspace(0.5, 2, len(WORDS)).astype(np.float32)
MAPPING = np.arange(len(WORDS))[::-1].copy() // 2
load = partial(load_model, "static")


def mean(text, rows=ROWS, weights=None, mapping=None, unknown=False):
    total, count = np.zeros(small.DIM), 0
    for token in tokens(text):
        if WORDS[token] != "[UNK]" or unknown:
            row = token if mapping is None else mapping[token]
            total += rows[row].astype(np.float64) * (1 if weights is None else weights[token])
            count += 1
    return total / count


@pytest.mark.parametrize("kind", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("config", "normalised"), [({"normalize": True}, True), ({"normalize": False}, False), (None, False)]
)
def test_text_is_the_mean_of_its_known_words_as_the_configuration_says(tmp_path, config, normalised, kind):
    table = ROWS.astype(kind)
    encoder = load(write_static(tmp_path, {"embeddings": table}, config=config))
    wanted = np.array([mean(text, table) for text in TEXTS])
    np.testing.assert_allclose(encoder.encode(TEXTS), unit(wanted) if normalised else wanted, atol=1e-6)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("mapping", [None, MAPPING])
def test_tokens_have_weights_and_share_rows_if_the_file_says_so(tmp_path, weights, mapping):
    named = {"embeddings": ROWS, "weights": weights, "mapping": mapping}
    encoder = load(write_static(tmp_path, {name: array for name, array in named.items() if array is not None}))
    wanted = [mean(text, weights=weights, mapping=mapping) for text in TEXTS]
    np.testing.assert_allclose(encoder.encode(TEXTS), wanted, atol=1e-6)


@pytest.mark.parametrize("inner", ["", "0_StaticEmbedding"])
@pytest.mark.parametrize("modules", [("StaticEmbedding",), ("StaticEmbedding", "Normalize")])
def test_model_of_sentence_transformers_counts_unknown_words_and_reads_its_own_steps(tmp_path, inner, modules):
    encoder = load(write_static(tmp_path, {"embedding.weight": ROWS}, modules=modules, inner=inner))
    wanted = np.array([mean(text, unknown=True) for text in TEXTS])
    np.testing.assert_allclose(encoder.encode(TEXTS), unit(wanted) if len(modules) == 2 else wanted, atol=1e-6)


@pytest.mark.parametrize(("config", "most"), [({}, 512), ({"max_length": 3}, 3)])
def test_long_text_is_cut_as_model2vec_cuts_it(tmp_path, config, most):
    encoder = load(write_static(tmp_path, config=config))
    characters = most * int(np.median([len(word) for word in WORDS]))
    long_words, short_words = "amber " * 1000, "a b " * (most // 2) + "fjord"
    assert len(short_words) < characters < len(long_words)
    for text in (long_words, "cedar " + short_words):
        cut = " ".join(text[:characters].split()[:most])
        np.testing.assert_allclose(encoder.encode([text])[0], mean(cut), atol=1e-6)


def test_unknown_pieces_of_a_unigram_tokeniser_are_left_out(tmp_path):
    encoder = load(write_static(tmp_path))
    made = tokeniser()
    made.model = models.Unigram([(word, -1.0) for word in WORDS], unk_id=WORDS.index("[UNK]"))
    made.save(str(tmp_path / "tokenizer.json"))
    np.testing.assert_allclose(encoder.encode(["amber zzz birch"])[0], mean("amber birch"), atol=1e-6)


def test_text_without_a_known_word_is_the_askers_mistake(tmp_path):
    encoder = load(write_static(tmp_path))
    with pytest.raises(UnknownWords, match="text 1: expected at least one word that the model knows, got 'nonsense'"):
        encoder.encode(["amber", "nonsense"])
    with pytest.raises(InputError, match="texts: expected a sequence"):
        encoder.encode("amber")


def text(name, content):
    return lambda folder: (folder / name).write_text(content)


def without(name):
    return lambda folder: (folder / name).unlink()


def tensors(**named):
    return lambda folder: write_static(folder, named)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (without("model.safetensors"), r"expected a folder with .*model.safetensors, which does not exist"),
        (text("model.safetensors", "x" * 40), "safetensors of types that NumPy has"),
        (tensors(weight=ROWS), "a tensor embeddings or embedding.weight, got .* with weight"),
        (tensors(embeddings=ROWS[:-1].copy()), "embeddings of each of 10 tokens in tokenizer.json, got .* with 9"),
        (tensors(embeddings=np.full_like(ROWS, np.nan)), "a matrix of finite numbers"),
        (tensors(embeddings=ROWS, mapping=np.arange(1, len(WORDS) + 1)), "a mapping to rows 0 to 9"),
        (tensors(embeddings=ROWS, weights=WEIGHTS[1:].copy()), "weights of each of 10 tokens"),
        (without("tokenizer.json"), "a folder with tokenizer.json"),
        (text("tokenizer.json", "{}"), "a tokeniser as the package tokenizers stores it"),
        (lambda folder: write_modules(folder, ["StaticEmbedding", "Dense"]), "modules.json has Dense"),
        (text("config.json", "["), "a JSON file, got .*config.json"),
        (text("config.json", '{"max_length": "many"}'), "a model that can be loaded, got .*TypeError"),
    ],
)
def test_model_that_would_give_other_vectors_is_refused_before_a_build(tmp_path, damage, problem):
    damage(write_static(tmp_path))
    with pytest.raises(InputError, match=f"encoder, path: .*{problem}"):
        load(tmp_path).check()
