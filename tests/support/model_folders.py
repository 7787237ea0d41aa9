"""Folders with small static models, as model2vec and sentence-transformers write them."""

import json

import numpy as np
from safetensors.numpy import save_file
from support import small
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from hubless.encoders import load_encoder

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *small.WORDS]
SPECIAL = {"padded": 0, "unknown": 1, "cls": 2, "sep": 3}
ROWS = np.random.default_rng(7).normal(size=(len(WORDS), small.DIM)).astype(np.float32)


def write_json(file, content):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), "utf-8")


def load_model(kind, folder, **fields):
    """The encoder of a folder, by a description that is written into it."""
    (folder / "encoder.json").write_text(json.dumps({"type": kind, "path": "."} | fields))
    return load_encoder(folder / "encoder.json", small.DIM)


def tokeniser(*, sentence=False, unknown="[UNK]"):
    """Words between spaces; between [CLS] and [SEP] if it is of sentences."""
    made = Tokenizer(models.WordLevel({word: row for row, word in enumerate(WORDS)}, unknown))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if sentence:
        special = [(word, WORDS.index(word)) for word in ("[CLS]", "[SEP]")]
        made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    return made


def tokens(text):
    return [WORDS.index(word) if word in WORDS else SPECIAL["unknown"] for word in text.split()]


def write_static(folder, tensors=None, *, config=None, modules=(), inner=""):
    """A static model; as model2vec names its tensors if none are given."""
    (folder / inner).mkdir(parents=True, exist_ok=True)
    save_file({"embeddings": ROWS} if tensors is None else tensors, folder / inner / "model.safetensors")
    tokeniser().save(str(folder / inner / "tokenizer.json"))
    if config is not None:
        write_json(folder / "config.json", config)
    if modules:
        write_modules(folder, modules)
    return folder


def write_modules(folder, names):
    write_json(
        folder / "modules.json", [{"idx": i, "type": f"sentence_transformers.models.{n}"} for i, n in enumerate(names)]
    )
