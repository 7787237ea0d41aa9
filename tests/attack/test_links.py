"""Folders that strangers fill: nothing that lies elsewhere is read, whatever stands there, and nothing hangs."""

import json
import os
import threading
from collections import Counter
from contextlib import suppress
from io import BytesIO
from time import monotonic
from urllib.parse import quote

import httpx
import numpy as np
import pytest
from PIL import Image
from support import small
from support.serving import serving_catalog

import hubless
from hubless.errors import InputError
from hubless.vectors.readers.plain_files import read_below

MARK = b"SECRET"
RACE_SECONDS = 2


def picture(colour, more=b""):
    """A PNG, with bytes behind its end, where no decoder looks."""
    file = BytesIO()
    Image.new("RGB", (9, 9), colour).save(file, "PNG")
    return file.getvalue() + more


RED, BLUE = picture("red", MARK), picture("blue")


class Hearing:
    """An encoder that keeps what it is given."""

    dim, quick, left_alone, takes_pictures = 3, True, None, True

    def __init__(self):
        self.heard = b""

    def check(self):
        pass

    check_pictures = save = check

    def encode(self, given, seconds=None):
        self.heard += b"".join(each if isinstance(each, bytes) else each.encode() for each in given)
        return np.ones((len(given), self.dim), np.float32)

    encode_pictures = encode

    def picture_input(self, picture, parameter="picture"):
        return picture


def embed(source, output, kind=None):
    """Return what the encoder heard, and what was skipped."""
    encoder = Hearing()
    with suppress(InputError):  # if nothing could be read at all
        hubless.embed(source, encoder, output, kind=kind)
    return encoder.heard, (output / "skipped.jsonl").read_text()


def embed_folder(root, name, output, client):
    return embed(root, output)


def embed_files(root, name, output, client):
    return embed(root, output, "files")


def embed_list(root, name, output, client):
    (root / "list.jsonl").write_text(json.dumps({"path": name}) + "\n")
    return embed(root / "list.jsonl", output, "pictures")


def embed_with_metadata(root, name, output, client):
    (root / "metadata.jsonl").write_text(json.dumps({"file_name": name, "text": "a text"}) + "\n")
    return embed(root, output)


def open_it(root, name, output, client):
    try:
        return read_below(root, name, 10**6), ""
    except OSError as error:
        return b"", str(error)


def thumbnail_of_id(root, name, output, client):
    return thumbnail(root, client, {"id": name})


def thumbnail_of_path(root, name, output, client):
    return thumbnail(root, client, {"id": "by path", "payload": {"path": name}})


def thumbnail(root, client, point):
    client.root.unlink(missing_ok=True)
    client.root.symlink_to(root)
    client.put("/points", json={"points": [point | {"vector": [1] * small.DIM}]})
    return shown(client, point["id"])


def shown(client, id):
    answer = client.get(f"/pictures/{quote(id, safe='').replace('.', '%2E')}")
    assert answer.status_code in (200, 404), answer.text
    if answer.status_code == 404:
        return b"", answer.json()["code"]
    return MARK if Image.open(BytesIO(answer.content)).getpixel((4, 4))[0] > 200 else b"another", ""


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A server whose folder of pictures is a link, which its owner set."""
    folder = tmp_path_factory.mktemp("served")
    ids = [f"target {row}" for row in range(small.COUNT)]
    small.build(folder / "catalog", ids=ids, payload=[{"path": each} for each in ids])
    with (
        serving_catalog(folder / "catalog", pictures=folder / "{collection}") as url,
        httpx.Client(base_url=f"{url}/v1/collections/photos", timeout=60) as client,
    ):
        client.root = folder / "photos"
        yield client


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root" / "sub").mkdir(parents=True)
    (tmp_path / "root" / "sub" / "good.png").write_bytes(BLUE)
    (tmp_path / "outside").mkdir()
    return tmp_path / "root"


def a_link_inside(place, outside):
    place.with_name(".inside").write_bytes(outside.read_bytes())
    place.symlink_to(".inside")


def a_linked_folder(place, outside):
    place.parent.rename(place.parents[1] / "was")
    place.parent.symlink_to(outside.parent)


STANDING = {
    "a link": lambda place, outside: place.symlink_to(outside),
    "a link inside": a_link_inside,
    "a linked folder": a_linked_folder,
    "a link to nowhere": lambda place, outside: place.symlink_to("nowhere"),
    "a link to itself": lambda place, outside: place.symlink_to(place),
    "a link to a device": lambda place, outside: place.symlink_to("/dev/zero"),
    "a pipe": lambda place, outside: os.mkfifo(place),
    "a folder": lambda place, outside: place.mkdir(),
}
DOORS = {
    "opener": ("sub/it.png", RED, open_it),
    "picture": ("sub/it.png", RED, embed_folder),
    "picture of a list": ("sub/it.png", RED, embed_list),
    "source file": ("sub/it.py", MARK, embed_files),
    "caption": ("sub/good.txt", MARK, embed_folder),
    "caption by the whole name": ("sub/good.png.txt", MARK, embed_folder),
    "metadata as lines": ("sub/metadata.jsonl", b'{"file_name": "good.png", "text": "SECRET"}', embed_folder),
    "metadata as a table": ("sub/metadata.csv", b"file_name,text\ngood.png,SECRET", embed_folder),
    "thumbnail by its id": ("sub/it.png", RED, thumbnail_of_id),
    "thumbnail by its path": ("sub/it.png", RED, thumbnail_of_path),
}


NAMED = [open_it, embed_list, embed_with_metadata, thumbnail_of_id, thumbnail_of_path]
"""What a name is given to that strangers write."""


@pytest.mark.parametrize("door", DOORS)
def test_plain_file_is_read(root, tmp_path, client, door):
    name, content, read = DOORS[door]
    (root / name).write_bytes(content)
    assert MARK in read(root, name, tmp_path / "output", client)[0]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("standing", STANDING)
@pytest.mark.parametrize("door", DOORS)
def test_what_stands_in_the_place_of_a_file_is_not_read_and_it_says_why(root, tmp_path, client, door, standing):
    name, content, read = DOORS[door]
    outside = tmp_path / "outside" / name.rpartition("/")[2]
    outside.write_bytes(content)
    STANDING[standing](root / name, outside)
    found, why = read(root, name, tmp_path / "output", client)
    assert MARK not in found
    said = [said for said in ("link", "no plain file", "picture_not_found") if said in why]
    assert said or standing == "a folder", why


@pytest.mark.parametrize(
    "name",
    [
        *("../outside/it.png", "sub/../../outside/it.png", "sub/good.png/../../../outside/it.png", "{outside}"),
        *("/{outside}", "file://{outside}", "../outside/it.png\0", "x" * 5000, "x/" * 2000, "", ".", "..", "/dev/zero"),
    ],
    ids=lambda name: repr(name[:40]),
)
@pytest.mark.parametrize("read", NAMED, ids=lambda read: read.__name__)
def test_name_that_leads_out_of_the_folder_is_not_followed(root, tmp_path, client, read, name):
    outside = tmp_path / "outside" / "it.png"
    outside.write_bytes(RED)
    found, _ = read(root, name.format(outside=outside), tmp_path / "output", client)
    assert MARK not in found


def swap_file(place, outside):
    beside = place.with_name("beside")
    beside.symlink_to(outside)
    beside.replace(place)
    os.link(place.with_name("good.png"), beside)
    beside.replace(place)


def swap_folder(place, outside):
    was = place.parent.with_name("was")
    place.parent.rename(was)
    place.parent.symlink_to(outside.parent)
    place.parent.unlink()
    was.rename(place.parent)


@pytest.mark.parametrize("swap", [swap_file, swap_folder], ids=lambda swap: swap.__name__)
@pytest.mark.parametrize(
    ("read", "read_again"), [(open_it, open_it), (thumbnail_of_path, lambda *given: shown(given[-1], "by path"))]
)
def test_link_that_is_swapped_in_shows_nothing_at_any_moment(root, tmp_path, client, read, read_again, swap):
    outside = tmp_path / "outside" / "it.png"
    outside.write_bytes(RED)
    place = root / "sub" / "it.png"
    os.link(place.with_name("good.png"), place)
    read(root, "sub/it.png", tmp_path, client)
    over = threading.Event()
    found = Counter()

    def look():
        while not over.is_set():
            found[read_again(root, "sub/it.png", None, client)[0]] += 1

    looking = threading.Thread(target=look)
    looking.start()
    ends = monotonic() + RACE_SECONDS
    while monotonic() < ends:
        swap(place, outside)
    over.set()
    looking.join()
    assert found.keys() - {b""}
    assert not [each for each in found if MARK in each]
