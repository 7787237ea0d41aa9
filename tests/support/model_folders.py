"""Folders with small models, as model2vec, sentence-transformers and ONNX exporters write them."""

import json

import numpy as np
from safetensors.numpy import save_file
from support import small
from support.onnx_bytes import FLOAT, INT64, model, node, value
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


def hidden(ids):
    """What the graph of `write_onnx` gives for the tokens of one text: their rows, and the sum of all to each."""
    return ROWS[ids] + ROWS[ids].sum(axis=0)


def graph(kind=INT64, *, pooled=False, inputs=("input_ids", "attention_mask", "token_type_ids")):
    """A graph whose token vectors depend on the others that the mask lets through, and fail for types but 0.

    If `pooled`, it has the sum of a text's token rows as `sentence_embedding` too.
    """
    tensors = {
        "rows": ROWS,
        "axis": np.array([2]),
        "time": np.array([1]),
        "types": np.zeros((1, small.DIM), np.float32),
    }
    nodes = [
        node("Gather", ["rows", "input_ids"], "looked_up"),
        node("Gather", ["types", "token_type_ids"], "typed"),
        node("Cast", ["attention_mask"], "mask", to=FLOAT),
        node("Unsqueeze", ["mask", "axis"], "mask3"),
        node("Mul", ["looked_up", "mask3"], "seen"),
        node("ReduceSum", ["seen", "time"], "total", keepdims=1),
        node("Add", ["looked_up", "typed"], "own"),
        node("Add", ["own", "total"], "last_hidden_state"),
        node("ReduceSum", ["seen", "time"], "sentence_embedding", keepdims=0),
    ]
    given = [value(name, kind, "batch", "tokens") for name in inputs]
    outputs = [value("last_hidden_state", FLOAT, "batch", "tokens", small.DIM)]
    if pooled:
        outputs.append(value("sentence_embedding", FLOAT, "batch", small.DIM))
    return model(nodes, tensors, given, outputs)


def write_onnx(folder, *, data=None, pooling="mean", modules=("Transformer", "Pooling"), file="model.onnx", **configs):
    """A model in ONNX; `configs` are JSON files by their names."""
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(graph() if data is None else data)
    made = tokeniser(sentence=True)
    made.enable_padding(length=12)  # as some models on the hub: these paddings must not count
    made.save(str(folder / "tokenizer.json"))
    if pooling:
        write_json(folder / "1_Pooling" / "config.json", {f"pooling_mode_{pooling}": True})
    if modules:
        write_modules(folder, modules)
    for name, content in configs.items():
        write_json(folder / f"{name}.json", content)
    return folder
