"""A catalog of pictures, and the encoder that made their vectors: for tests that ask by picture, or show them."""

import base64
from io import BytesIO

import numpy as np
from PIL import Image
from support.made_pictures import made
from support.model_pairs import COLOURS, DIM, load_pair, write_pair

import hubless

IDS = [*COLOURS, *(f"made {number}" for number in range(30))]


def solid(colour, kind="PNG"):
    file = BytesIO()
    Image.new("RGB", (40, 30), colour).save(file, kind)
    return file.getvalue()


def in_base64(content):
    return base64.b64encode(content).decode()


def build_photos(folder, **options):
    """Pictures of one colour and others, in a catalog and as files, payload "path" each; the catalog."""
    write_pair(folder)
    encoder = load_pair(folder)
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
    return folder / "catalog"
