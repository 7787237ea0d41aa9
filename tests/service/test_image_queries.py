"""Queries by picture: as by the vector of the picture, through every door; what is no picture is named."""

import asyncio
import json
import re
from io import BytesIO

import httpx
import numpy as np
import pytest
from PIL import Image
from support import small
from support.contract import problem
from support.photos import built_photos, in_base64, solid
from support.serving import serving_catalog
from typer.testing import CliRunner

import hubless
from hubless.cli.application import app
from hubless.store.query_sample import read_sample
from hubless_client import AsyncClient, CannotSend, Client, Query

QUERY, BATCH = "/v1/collections/photos/query", "/v1/collections/photos/query/batch"
POINTS = "/v1/collections/photos/points"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    """The pictures, and collections whose encoder takes texts only, or that have none."""
    folder = tmp_path_factory.mktemp("pictures")
    with built_photos(folder) as catalog:
        small.build(catalog, "words", encoder=small.encoder())
        small.build(catalog, "numbers")
        yield catalog


@pytest.fixture(scope="module")
def photos(catalog):
    return hubless.open(catalog, "photos")


@pytest.fixture(scope="module")
def url(catalog):
    with serving_catalog(catalog) as url:
        yield url


@pytest.fixture(scope="module")
def client(url, contract):
    with contract.client(url, timeout=60) as client:
        yield client


@pytest.fixture
def lime(tmp_path):
    path = tmp_path / "lime.png"
    path.write_bytes(solid("lime"))
    return path


def test_list_to_fuse_may_be_a_query_by_picture(client):
    lists = [{"collection": "photos", "image": in_base64(solid("red"))}, {"ids": ["red"], "scores": [1.0]}]
    assert client.post("/v1/rerank", json={"lists": lists}).json()["hits"][0]["id"] == "red"


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        *((text, "image: expected base64 of a picture") for text in ("no base64", "http://127.0.0.1/red.png")),
        (7, "image: expected base64 of a picture as JPEG, PNG, WebP or GIF, got 7"),
        (in_base64(b"no picture"), "image: expected a picture as JPEG, PNG, WebP or GIF, got something else"),
        (in_base64(solid("red")[:60]), "image: expected a picture as JPEG, PNG, WebP or GIF, got a damaged one"),
        ("", "image: expected a picture as JPEG, PNG, WebP or GIF, got something else"),
    ],
)
def test_what_is_no_picture_is_named(client, image, expected):
    assert expected in problem(client.post(QUERY, json={"image": image}))
    batch = {"queries": [{"image": in_base64(solid("red"))}, {"image": image}]}
    assert f"queries[1].{expected}" in problem(client.post(BATCH, json=batch))
    points = [{"id": "new", "image": in_base64(solid("red"))}, {"id": "newer", "image": image}]
    assert f"points[1].{expected}" in problem(client.put(POINTS, json={"points": points}))


def test_point_may_be_a_picture_whose_vector_is_stored(url, lime, photos):
    with Client(url) as client:
        client.put("photos", ["new"], images=[lime])
        stored = client.point("photos", "new", with_vector=True).vector
        assert client.delete_point("photos", "new").deleted == 1
    np.testing.assert_allclose(stored, photos.encode_pictures([solid("lime")])[0], atol=1e-6)


def test_pictures_may_be_as_large_as_bodies(client):
    file = BytesIO()
    Image.effect_noise((1800, 1800), 100).convert("RGB").save(file, "PNG")
    assert 2.1e6 < len(file.getvalue()) < 11e6
    assert client.post(QUERY, json={"image": in_base64(file.getvalue())}).status_code == 200
    too_large = client.post(QUERY, json={"image": "A" * 2**24})
    problem(too_large, 413, "body_too_large")


@pytest.mark.parametrize(
    ("collection", "received"), [("words", "one whose encoder takes texts only"), ("numbers", "one without an encoder")]
)
def test_collections_without_an_encoder_of_pictures_say_so(client, collection, received):
    answer = client.post(f"/v1/collections/{collection}/query", json={"image": in_base64(solid("red"))})
    expected = f"image: expected a collection whose encoder takes pictures, got {received}"
    assert expected in problem(answer, code="no_encoder")


def test_both_clients_take_bytes_and_files(url, lime):
    async def ask(image):
        async with AsyncClient(url) as client:
            return await client.query("photos", image=image, strength=0)

    with Client(url) as client:
        for image in (lime, str(lime), solid("lime")):
            assert client.query("photos", image=image, strength=0)[0].id == "lime"
            assert asyncio.run(ask(image))[0].id == "lime"
        (found,) = client.query_batch("photos", queries=[Query(image=lime, strength=0)])
        assert found[0].id == "lime"


def test_client_names_the_file_that_is_missing(tmp_path):
    with pytest.raises(CannotSend, match=r"image: expected a file that can be read, got .*none.png: No such file"):
        Client().query("photos", image=tmp_path / "none.png")
    with pytest.raises(CannotSend, match="image: expected bytes, or the path of a file, got int"):
        Client().query("photos", image=7)


def test_command_takes_files(catalog, lime):
    def run(*options):
        given = ["query", "--catalog", str(catalog), "--collection", "photos", "--strength", "0", *map(str, options)]
        return CliRunner().invoke(app, given)

    results = json.loads(run("--image", lime, "--image", lime, "--json").output)["results"]
    assert [each["hits"][0]["id"] for each in results] == ["lime", "lime"]
    missing = run("--image", lime.parent / "none.png")
    assert missing.exit_code
    assert re.search("expected a file that is there, got .*none.png", str(missing.exception))


def test_pictures_are_sampled_as_vectors(catalog, photos, tmp_path):
    with serving_catalog(catalog, query_sample=tmp_path / "sample") as url:
        assert httpx.post(f"{url}{QUERY}", json={"image": in_base64(solid("red"))}).status_code == 200
    sample = read_sample(tmp_path / "sample" / "photos")
    np.testing.assert_allclose(sample.vectors, photos.encode_pictures([solid("red")]), atol=1e-6)
