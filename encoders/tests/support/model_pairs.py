"""Folders with tiny pairs of graphs for texts and pictures, as optimum, open_clip's users and Immich export them.

Both halves know colours: a text is the sum of its words' colours, a picture the mean of each of its four quarters.
"""

import json

import numpy as np
from support.model_folders import write_json
from support.onnx_bytes import FLOAT, INT64, model, node, value
from support.photos import COLOURS, DIM
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from hubless.encoders import load_encoder

SIDE = 4
"""Pixels of a side that the graph of pictures takes."""
WORDS = ["[UNK]", "</s>", "<s>", *COLOURS]
ROWS = np.float32([[0.01] * 3, [0.25, 0.5, 0.75], [0] * 3, *COLOURS.values()]) @ np.tile(np.eye(3), 4).astype(
    np.float32
)
PREPROCESSING = {
    "do_resize": True,
    "size": {"shortest_edge": SIDE},
    "resample": 3,
    "do_center_crop": True,
    "crop_size": {"height": SIDE, "width": SIDE},
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [0, 0, 0],
    "image_std": [1, 1, 1],
}


def text_graph(kind=INT64, *, inputs=("input_ids",), width="tokens", batch="batch", output="text_embeds"):
    """Sum of the rows of all tokens, padding too."""
    nodes = [node("Gather", ["rows", inputs[0]], "found"), node("ReduceSum", ["found", "time"], output, keepdims=0)]
    given = [value(name, kind, batch, width) for name in inputs]
    tensors = {"rows": ROWS, "time": np.array([1])}
    return model(nodes, tensors, given, [value(output, FLOAT, batch, DIM)])


def picture_graph(*, name="pixel_values", output="image_embeds", side=SIDE, dim=DIM):
    """Mean colour of the four quarters of a picture."""
    place = np.arange(SIDE) // (SIDE // 2)
    quarter = (2 * place[:, None] + place).ravel()
    weights = np.zeros((3, SIDE * SIDE, DIM), np.float32)
    for channel in range(3):
        weights[channel, np.arange(SIDE * SIDE), 3 * quarter + channel] = 4 / SIDE**2
    nodes = [node("Flatten", [name], "flat", axis=1), node("MatMul", ["flat", "weights"], output)]
    tensors = {"weights": np.ascontiguousarray(weights.reshape(-1, DIM)[:, :dim])}
    return model(nodes, tensors, [value(name, FLOAT, "batch", 3, side, side)], [value(output, FLOAT, "batch", dim)])


def tokeniser():
    made = Tokenizer(models.WordLevel({word: row for row, word in enumerate(WORDS)}, "[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 2)])
    return made


def write_pair(folder, texts="text_model.onnx", pictures="vision_model.onnx", *, graphs=None, **configs):
    """A pair in a folder; `graphs` replaces (text, picture), `configs` are JSON files by their names."""
    text, picture = graphs or (text_graph(), picture_graph())
    for name, data in ((texts, text), (pictures, picture)):
        if name is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
    tokeniser().save(str(folder / "tokenizer.json"))
    for name, content in ({"preprocessor_config": PREPROCESSING} | configs).items():
        if content is not None:
            write_json(folder / f"{name}.json", content)
    return folder


def load_pair(folder, **fields):
    (folder / "encoder.json").write_text(json.dumps({"type": "onnx", "path": "."} | fields))
    return load_encoder(folder / "encoder.json", fields.get("dim", DIM))
