"""Pictures of targets: those of one folder, to those who may read the collection, and nothing else."""

import os
from io import BytesIO

import httpx
import numpy as np
import pytest
from PIL import Image
from support import small
from support.contract import problem
from support.serving import serving_catalog

from hubless_service.settings import Settings

IDS = [
    "red.png",
    "dir/blue.jpg",
    "gone.png",
    "../secret.png",
    "/etc/passwd",
    "text.png",
]
NAME = "photos"


def write(path, color, size=(600, 400)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, color).save(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures") / "shown"
    write(folder / "red.png", "red")
    write(folder / "dir/blue.jpg", "blue")
    write(folder.parent / "secret.png", "white")
    (folder / "text.png").write_text("no picture")
    return folder


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    catalog = tmp_path_factory.mktemp("catalog")
    small.build(catalog, ids=[*IDS, *(f"row {row}" for row in range(len(IDS), small.COUNT))])
    payload = [{"path": "red.png"}, {"path": "../secret.png"}, {"path": None}, *({} for _ in range(3, small.COUNT))]
    small.build(catalog, "named", ids=np.arange(small.COUNT), payload=payload)
    return catalog


@pytest.fixture(scope="module")
def client(catalog, folder, contract):
    with serving_catalog(catalog, pictures=folder) as url, contract.client(url, timeout=60) as client:
        yield client


def get(client, id, collection=NAME, **options):
    return client.get(f"/v1/collections/{collection}/pictures/{id}", **options)


def shown(answer):
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/jpeg"), answer.text
    return Image.open(BytesIO(answer.content))


@pytest.mark.parametrize(("id", "color"), [("red.png", (254, 0, 0)), ("dir/blue.jpg", (0, 0, 254))])
def test_pictures_are_found_by_ids(client, id, color):
    picture = shown(get(client, id))
    assert picture.size == (256, 171)
    assert picture.getpixel((100, 100)) == color


def test_pictures_are_as_small_as_asked_for(client):
    assert shown(get(client, "red.png", params={"pixels": 60})).size == (60, 40)
    for wrong in ("15", "2049", "x", '"60"'):
        assert "pixels: expected a whole number from 16 to 2048" in problem(
            get(client, "red.png", params={"pixels": wrong})
        )


def test_payload_may_name_the_file(client):
    assert shown(get(client, 0, "named")).size == (256, 171)
    for id in (1, 2, 3):
        problem(get(client, id, "named"), 404, "picture_not_found")


@pytest.mark.parametrize(
    ("ids", "code"),
    [
        (["gone.png", "../secret.png", "%2Fetc%2Fpasswd", "text.png", "row 20"], "picture_not_found"),
        (["unknown.png", "dir", "", "../../catalog", "red.png/"], "point_not_found"),
    ],
)
def test_nothing_else_is_shown_or_looked_for(client, folder, ids, code):
    for id in ids:
        answer = get(client, id.replace("../", "..%2F"))
        assert str(folder.parent) not in problem(answer, 404, code)


def test_pictures_are_for_the_eyes_alone_and_unchanged_ones_not_sent_again(client, folder):
    first = get(client, "red.png")
    assert first.headers.items() >= {("cache-control", "private, no-cache"), ("x-content-type-options", "nosniff")}
    assert first.headers["content-security-policy"].startswith("default-src 'none'")
    again = get(client, "red.png", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert get(client, "red.png", params={"pixels": 50}).headers["etag"] != first.headers["etag"]
    os.utime(folder / "red.png", (1, 1))
    assert get(client, "red.png", headers={"If-None-Match": first.headers["etag"]}).status_code == 200


def test_each_collection_may_have_its_folder(catalog, folder):
    with serving_catalog(catalog, pictures=folder.parent / "{collection}") as url, httpx.Client(base_url=url) as client:
        problem(get(client, "red.png"), 404, "picture_not_found")
        (folder.parent / NAME).symlink_to(folder)
        assert shown(get(client, "red.png")).size == (256, 171)
        client.put("/v1/aliases/other", json={"collection": NAME})
        assert shown(get(client, "red.png", "other")).size == (256, 171)


def test_without_a_folder_the_answer_says_what_to_set(catalog):
    with serving_catalog(catalog) as url, httpx.Client(base_url=url) as client:
        assert "HUBLESS_PICTURES" in problem(get(client, "red.png"), 404, "picture_not_found")


def test_folders_that_are_missing_are_refused(tmp_path):
    with pytest.raises(ValueError, match="expected a folder that is there"):
        Settings(catalog=tmp_path, pictures=tmp_path / "none")
