"""Folders that strangers fill: nothing that lies elsewhere is read, whatever stands there, and nothing hangs."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from io import BytesIO
from urllib.parse import quote

import httpx
import numpy as np
import pytest
from PIL import Image
from support import small
from support.photos import solid
from support.serving import serving_catalog

import hubless
from hubless.errors import InputError
from hubless.vectors.readers.plain_files import read_below

MARK = b"SECRET"
LOOKS = 100


RED = solid("red") + MARK  # behind the end, where no decoder looks


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


def embed(root, name, client, file=None, source="", kind=None):
    """Return what the encoder heard, and what was skipped. A file of rows names one thing."""
    encoder, output = Hearing(), root.with_name("output")
    if file:
        (root / file).write_text(json.dumps({"file_name": name, "text": "a text"}) + "\n")
    with suppress(InputError):  # if nothing could be read at all
        hubless.embed(root / source, encoder, output, kind=kind)
    return encoder.heard.encode(), (output / "skipped.jsonl").read_text()


def open_it(root, name, client):
    try:
        return read_below(root, name, 10**6), ""
    except OSError as error:
        return b"", str(error)


def thumbnail(root, name, client, by_id=False):
    client.root.unlink(missing_ok=True)
    client.root.symlink_to(root)
    point = {"id": name} if by_id else {"id": "it", "payload": {"path": name}}
    client.put("/points", json={"points": [point | {"vector": [1] * small.DIM}]})
    return shown(client, point["id"])


def shown(client, id):
    answer = client.get(f"/pictures/{quote(id, safe='').replace('.', '%2E')}")
    if answer.status_code != 200:
        return b"", answer.json()["code"]
    return (MARK if Image.open(BytesIO(answer.content)).getpixel((4, 4))[0] > 200 else b"another"), ""


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A server whose folder of pictures is a link, which its owner set."""
    folder = tmp_path_factory.mktemp("served")
    small.build(folder / "catalog", ids=[*map(str, range(small.COUNT))], payload=[{"path": "x"}] * small.COUNT)
    with (
        serving_catalog(folder / "catalog", pictures=folder / "{collection}") as url,
        httpx.Client(base_url=f"{url}/v1/collections/photos", timeout=60) as client,
    ):
        client.root = folder / "photos"
        yield client


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root" / "sub").mkdir(parents=True)
    (tmp_path / "root" / "sub" / "good.png").write_bytes(solid("blue"))
    (tmp_path / "outside").mkdir()
    return tmp_path / "root"


def link_inside(place, outside):
    outside.rename(place.with_name(".inside"))
    place.symlink_to(".inside")


def link_the_folder(place, outside):
    place.parent.rename(place.parents[1] / "was")
    place.parent.symlink_to(outside.parent)


STANDING = {
    "link": lambda place, outside: place.symlink_to(outside),
    "link inside": link_inside,
    "linked folder": link_the_folder,
    "link to nowhere": lambda place, outside: place.symlink_to("nowhere"),
    "link to itself": lambda place, outside: place.symlink_to(place),
    "link to a device": lambda place, outside: place.symlink_to("/dev/zero"),
    "pipe": lambda place, outside: os.mkfifo(place),
    "folder": lambda place, outside: place.mkdir(),
    "file": lambda place, outside: outside.rename(place),
}
LISTED = partial(embed, file="list.jsonl", source="list.jsonl", kind="pictures")
BY_ID = partial(thumbnail, by_id=True)
DOORS = {
    "opener": ("sub/it.png", RED, open_it),
    "picture": ("sub/it.png", RED, embed),
    "picture of a list": ("sub/it.png", RED, LISTED),
    "source file": ("sub/it.py", MARK, partial(embed, kind="files")),
    "caption": ("sub/good.txt", MARK, embed),
    "caption by the whole name": ("sub/good.png.txt", MARK, embed),
    "metadata as lines": ("sub/metadata.jsonl", b'{"file_name": "good.png", "text": "SECRET"}', embed),
    "metadata as a table": ("sub/metadata.csv", b"file_name,text\ngood.png,SECRET", embed),
    "thumbnail by its path": ("sub/it.png", RED, thumbnail),
    "thumbnail by its id": ("sub/it.png", RED, BY_ID),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("standing", STANDING)
@pytest.mark.parametrize("door", DOORS)
def test_what_stands_in_the_place_of_a_file_is_not_read_and_it_says_why(root, client, door, standing):
    name, content, read = DOORS[door]
    outside = root.with_name("outside") / name.rpartition("/")[2]
    outside.write_bytes(content)
    STANDING[standing](root / name, outside)
    found, why = read(root, name, client)
    assert (MARK in found) == (standing == "file")
    assert any(said in why for said in ("link", "no plain file", "picture_not_found")) or not standing.startswith("l")


@pytest.mark.parametrize(
    "name",
    [
        *("../outside/it.png", "sub/../../outside/it.png", "sub/good.png/../../../outside/it.png", "{outside}"),
        *("/{outside}", "file://{outside}", "../outside/it.png\0", "x" * 5000, "x/" * 2000, "", ".", "..", "/dev/zero"),
    ],
    ids=lambda name: repr(name[:40]),
)
@pytest.mark.parametrize("read", [open_it, LISTED, partial(embed, file="metadata.jsonl"), thumbnail, BY_ID])
def test_name_that_leads_out_of_the_folder_is_not_followed(root, client, read, name):
    outside = root.with_name("outside") / "it.png"
    outside.write_bytes(RED)
    assert MARK not in read(root, name.format(outside=outside), client)[0]


@pytest.mark.parametrize("standing", ["link", "linked folder"])
def test_link_that_comes_before_any_call_of_the_opener_shows_nothing(root, standing):
    outside = root.with_name("outside") / "it.png"
    outside.write_bytes(RED)
    calls = moment = 0

    def look(frame, event, called):
        nonlocal calls
        calls += event == "c_call"
        if (event, calls) == ("c_call", moment):
            place.unlink()
            STANDING[standing](place, outside)

    while calls >= moment:
        calls, moment = 0, moment + 1
        place = root / str(moment) / "sub" / "it.png"
        place.parent.mkdir(parents=True)
        place.write_bytes(solid("blue"))
        sys.setprofile(look)
        found, _ = open_it(root / str(moment), "sub/it.png", None)
        sys.setprofile(None)
        assert MARK not in found
    assert found


def test_thumbnail_shows_nothing_through_a_link_that_is_swapped_in(root, client):
    outside, place = root.with_name("outside") / "it.png", root / "sub" / "it.png"
    outside.write_bytes(RED)
    os.link(place.with_name("good.png"), place)
    thumbnail(root, "sub/it.png", client)
    beside = place.with_name("beside")
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(lambda: [shown(client, "it")[0] for _ in range(LOOKS)])
        while not looking.done():
            beside.symlink_to(outside)
            beside.replace(place)
            os.link(place.with_name("good.png"), beside)
            beside.replace(place)
    assert MARK not in looking.result()
    assert shown(client, "it")[0]
