"""Folders that strangers fill: nothing that lies elsewhere is read, whatever stands there, and nothing hangs."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO
from urllib.parse import quote

import httpx
import pytest
from PIL import Image
from support import small
from support.links import LEADING_OUT, MARK, RED, STANDING, check_leading_out, check_standing, root as root
from support.photos import solid
from support.serving import serving_catalog
from support.writing import put_points

from hubless.vectors.readers.plain_files import read_below

LOOKS = 100


def open_it(root, name, client):
    try:
        return read_below(root, name, 10**6), ""
    except OSError as error:
        return b"", str(error)


def thumbnail(root, name, client, by_id=False):
    client.root.unlink(missing_ok=True)
    client.root.symlink_to(root)
    point = {"id": name} if by_id else {"id": "it", "payload": {"path": name}}
    put_points(client, point | {"vector": [1] * small.DIM})
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


BY_ID = partial(thumbnail, by_id=True)
DOORS = {"opener": open_it, "thumbnail by its path": thumbnail, "thumbnail by its id": BY_ID}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("standing", STANDING)
@pytest.mark.parametrize("door", DOORS)
def test_what_stands_in_the_place_of_a_file_is_not_read_and_it_says_why(root, client, door, standing):
    check_standing(root, standing, "sub/it.png", RED, partial(DOORS[door], client=client))


@pytest.mark.parametrize("name", LEADING_OUT, ids=lambda name: repr(name[:40]))
@pytest.mark.parametrize("door", DOORS)
def test_name_that_leads_out_of_the_folder_is_not_followed(root, client, door, name):
    check_leading_out(root, name, partial(DOORS[door], client=client))


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
