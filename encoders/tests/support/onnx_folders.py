"""Folders with small models in ONNX, as exporters write them."""

import numpy as np
from support import small
from support.model_folders import ROWS, tokeniser, write_json, write_modules
from support.onnx_bytes import FLOAT, INT64, model, node, value


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
