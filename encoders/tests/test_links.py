"""Folders that strangers fill: nothing that lies elsewhere is embedded, whatever stands there, and nothing hangs."""

import json
from contextlib import suppress
from functools import partial

import numpy as np
import pytest
from support.links import LEADING_OUT, MARK, RED, STANDING, check_leading_out, check_standing, root as root

import hubless
from hubless.errors import InputError


class Hearing:
    """An encoder that keeps what it is given."""

    dim, quick, left_alone, takes_pictures, heard = 3, True, None, True, ""

    def check(self):
        pass

    check_pictures = save = check

    def picture_input(self, picture):
        return picture

    def encode(self, given):
        self.heard += str(given)
        return np.ones((len(given), self.dim), np.float32)

    encode_pictures = encode


def embed(root, name, file=None, source="", kind=None):
    """Return what the encoder heard, and what was skipped. A file of rows names one thing."""
    encoder, output = Hearing(), root.with_name("output")
    if file:
        (root / file).write_text(json.dumps({"file_name": name, "text": "a text"}) + "\n")
    with suppress(InputError):  # if nothing could be read at all
        hubless.embed(root / source, encoder, output, kind=kind)
    return encoder.heard.encode(), (output / "skipped.jsonl").read_text()


LISTED = partial(embed, file="list.jsonl", source="list.jsonl", kind="pictures")
DOORS = {
    "picture": ("sub/it.png", RED, embed),
    "picture of a list": ("sub/it.png", RED, LISTED),
    "source file": ("sub/it.py", MARK, partial(embed, kind="files")),
    "caption": ("sub/good.txt", MARK, embed),
    "caption by the whole name": ("sub/good.png.txt", MARK, embed),
    "metadata as lines": ("sub/metadata.jsonl", b'{"file_name": "good.png", "text": "SECRET"}', embed),
    "metadata as a table": ("sub/metadata.csv", b"file_name,text\ngood.png,SECRET", embed),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("standing", STANDING)
@pytest.mark.parametrize("door", DOORS)
def test_what_stands_in_the_place_of_a_file_is_not_read_and_it_says_why(root, door, standing):
    check_standing(root, standing, *DOORS[door])


@pytest.mark.parametrize("name", LEADING_OUT, ids=lambda name: repr(name[:40]))
@pytest.mark.parametrize("read", [LISTED, partial(embed, file="metadata.jsonl")])
def test_name_that_leads_out_of_the_folder_is_not_followed(root, read, name):
    check_leading_out(root, name, read)
