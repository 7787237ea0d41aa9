"""A catalog of pictures, and the endpoint that made their vectors: for tests that ask by picture, or show them."""

import base64
import json
from contextlib import contextmanager
from io import BytesIO

import numpy as np
from PIL import Image
from support.answering import answering
from support.made_pictures import made
from werkzeug.wrappers import Request, Response

import hubless
from hubless.encoders import for_pictures, load_encoder

DIM = 12
COLOURS = {"red": (1, 0, 0), "lime": (0, 1, 0), "blue": (0, 0, 1), "yellow": (1, 1, 0), "white": (1, 1, 1)}
IDS = [*COLOURS, *(f"made {number}" for number in range(30))]


def solid(colour, kind="PNG"):
    file = BytesIO()
    Image.new("RGB", (40, 30), colour).save(file, kind)
    return file.getvalue()


def in_base64(content):
    return base64.b64encode(content).decode()


def vector_of(given):
    """The sum of a text's colours, or the mean of each quarter of a picture; of length 1."""
    if isinstance(given, str):
        colour = np.sum([COLOURS.get(word, (0, 0, 0)) for word in given.split()], axis=0)
        quarters = np.tile(colour, 4)
    else:
        picture = Image.open(BytesIO(base64.b64decode(given["image"]))).convert("RGB")
        quarters = np.asarray(picture.resize((2, 2), Image.Resampling.BOX), float).ravel() / 255
    return ((quarters + 0.01) / np.linalg.norm(quarters + 0.01)).tolist()


@Request.application
def knowing_colours(request):
    data = [{"index": i, "embedding": vector_of(each)} for i, each in enumerate(request.get_json()["input"])]
    return Response(json.dumps({"data": data}))


@contextmanager
def built_photos(folder, **options):
    """Pictures of one colour and others, in a catalog and as files, payload "path" each; the catalog.

    Until the block ends, an endpoint encodes words and pictures.
    """
    with answering(knowing_colours) as url:
        described = {"type": "openai", "url": url, "model": "colours", "pictures": "jina", "dim": DIM, "retries": 0}
        (folder / "encoder.json").write_text(json.dumps(described | {"timeout": 60}))
        encoder = for_pictures(load_encoder(folder / "encoder.json"))
        shown = folder / "shown"
        shown.mkdir()
        files = [shown / f"{id_}.png" for id_ in IDS]
        for file, colour in zip(files, COLOURS, strict=False):
            file.write_bytes(solid(colour))
        for number, file in enumerate(files[len(COLOURS) :]):
            made(number).save(file)
        vectors = encoder.encode_pictures([encoder.picture_input(file) for file in files])
        bank = np.random.default_rng(0).normal(size=(60, DIM)).astype(np.float32)
        payload = [{"path": file.name} for file in files]
        given = {"ids": IDS, "payload": payload, "encoder": folder / "encoder.json"}
        hubless.build(folder / "catalog", "photos", vectors, bank, correction="csls", **given, **options)
        yield folder / "catalog"
