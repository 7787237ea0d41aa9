"""Pictures are weighed before the work, at every door, and none holds up what is smaller."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from PIL import Image, ImageFile
from support.bombs import BOMBS, png
from support.contract import problem
from support.photos import DIM, built_photos, in_base64, solid
from support.server_process import served
from support.serving import serving_catalog
from typer.testing import CliRunner

from hubless.cli.application import app
from hubless.encoders import Endpoint
from hubless.errors import InputError, TextRefused
from hubless.vectors.readers.pictures import read_picture, sound_content, thumbnail_of
from hubless_service.http import exchange
from hubless_service.routes import thumbnails
from hubless_service.searching import encoding

QUERY, RERANK = "/v1/collections/photos/query", "/v1/rerank"
BATCH = f"{QUERY}/batch"
SHOWN = "/v1/collections/photos/pictures"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos")
    with built_photos(folder):
        Image.new("RGB", (2001, 2000), "red").save(folder / "shown/large.png")
        for name, (content, _) in BOMBS.items():
            (folder / f"shown/{name}.png").write_bytes(content)
        yield folder


@pytest.fixture(scope="module")
def client(folder):
    with (
        serving_catalog(folder / "catalog", pictures=folder / "shown") as url,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        named = [{"id": each, "vector": [1] * DIM, "payload": {"path": f"{each}.png"}} for each in (*BOMBS, "large")]
        assert client.put("/v1/collections/photos/points", json={"points": named}).status_code == 200
        yield client


def of_library(read):
    def door(path, **_):
        with path.open("rb") as file, pytest.raises(InputError) as refused:
            read(file)
        return str(refused.value)

    return door


def of_command(path, folder, **_):
    given = ["query", "--catalog", folder / "catalog", "--collection", "photos", "--image", path]
    return str(CliRunner().invoke(app, [*map(str, given)]).exception)


def of_thumbnail(path, client, caplog, **_):
    problem(client.get(f"{SHOWN}/{path.stem}"), 404, "picture_not_found")
    return caplog.text


def of_http(path, body):
    return lambda path_, client, **_: problem(client.post(path, json=body({"image": in_base64(path_.read_bytes())})))


DOORS = {
    **{read.__name__: of_library(read) for read in (read_picture, thumbnail_of, sound_content)},
    "command": of_command,
    "thumbnail": of_thumbnail,
    "query": of_http(QUERY, lambda query: query),
    "batch": of_http(BATCH, lambda query: {"queries": [{"text": "red"}, query]}),
    "rerank": of_http(RERANK, lambda query: {"lists": [{"collection": "photos", **query}]}),
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("door", DOORS)
def test_bomb_is_refused_by_its_head_at_every_door(door, name, folder, client, caplog, monkeypatch):
    load = ImageFile.ImageFile.load
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda self: load(self) if self.width < 100 else 1 / 0)
    path = folder / f"shown/{name}.png"
    assert BOMBS[name][1] in DOORS[door](path, folder=folder, client=client, caplog=caplog)


@pytest.fixture
def decoded(monkeypatch):
    """What was decoded for the encoder."""
    made = []
    true = Endpoint.picture_input
    monkeypatch.setattr(Endpoint, "picture_input", lambda *given: made.append(true(*given)) or made[-1])
    return made


@pytest.mark.parametrize(
    ("path", "body", "field", "count"),
    [
        (BATCH, lambda query: {"queries": [query] * 3}, "queries[2].image", 0),
        (RERANK, lambda query: {"lists": [{"collection": "photos", **query}] * 3}, "lists[2].image", 2),
    ],
)
def test_pictures_of_a_request_are_weighed_together(client, monkeypatch, decoded, path, body, field, count):
    monkeypatch.setattr(encoding, "MOST_PIXELS_TOGETHER", 3000)
    answer = client.post(path, json=body({"image": in_base64(solid("red"))}))
    assert f"{field}: expected pictures of at most 3,000 pixels in all, got 3,600" in problem(answer)
    assert len(decoded) == count


def test_each_picture_is_decoded_once_where_the_encoder_refuses_one(client, monkeypatch, decoded):
    true = Endpoint.encode_pictures

    def encode_pictures(encoder, inputs, seconds):
        if any(each is decoded[-1] for each in inputs):
            raise TextRefused("picture", "another", "this one")
        return true(encoder, inputs, seconds)

    monkeypatch.setattr(Endpoint, "encode_pictures", encode_pictures)
    queries = [{"image": in_base64(solid("red"))}] * 12
    answer = client.post(BATCH, json={"queries": queries})
    assert "queries[7].image: expected another, got this one" in problem(answer, code="text_refused")
    assert len(decoded) == 8


def test_texts_and_small_pictures_pass_what_takes_long(client, folder, monkeypatch, decoded):
    """Neither pictures at the encoder nor a large thumbnail hold them up; what nobody waits for is not begun."""
    monkeypatch.setattr(exchange, "MOST_WAITING_BYTES", 0)  # as if the bodies were large
    go_on, begun, made = threading.Event(), threading.Semaphore(0), []
    encode = Endpoint.encode_pictures

    def slowly(work):
        begun.release()
        assert go_on.wait(60)
        return work()

    def thumbnail(file, pixels):
        made.append(pixels)
        large = Path(file.name).stem == "large"
        return slowly(lambda: thumbnail_of(file, pixels)) if large else thumbnail_of(file, pixels)

    monkeypatch.setattr(Endpoint, "encode_pictures", lambda *given: slowly(lambda: encode(*given)))
    monkeypatch.setattr(thumbnails, "thumbnail_of", thumbnail)
    with ThreadPoolExecutor(9) as others:
        image = {"image": in_base64(solid("red"))}
        slow = [others.submit(client.post, QUERY, json=image) for _ in range(8)]
        slow.append(others.submit(client.get, f"{SHOWN}/large", params={"pixels": 100}))
        for _ in range(5):  # all threads that there are for pictures of the collection, and the one for large ones
            assert begun.acquire(timeout=60)
        large = {"image": in_base64((folder / "shown/large.png").read_bytes())}
        for method, url, sent in (("GET", f"{SHOWN}/large", None), ("POST", QUERY, large)):
            with pytest.raises(httpx.ReadTimeout):
                client.request(method, url, json=sent, timeout=0.3)
        assert client.post(QUERY, json={"text": "red"}).status_code == 200
        assert client.get(f"{SHOWN}/red").status_code == 200
        go_on.set()
        assert {each.result().status_code for each in slow} == {200}
    assert client.get(f"{SHOWN}/large", params={"pixels": 300}).status_code == 200
    assert (made, len(decoded)) == ([100, 256, 300], 8)


@pytest.mark.slow
def test_eight_of_the_heaviest_at_once_take_400_megabytes_at_most(folder):
    image = {"image": in_base64(png(7000, 7000, data=b"\1" * 7000 * 21_001)), "timeout_ms": 60_000}

    with served(folder / "catalog") as server, ThreadPoolExecutor(8) as clients:

        def memory(field):
            return int(re.search(rf"{field}:\s+(\d+)", Path(f"/proc/{server.pid}/status").read_text())[1]) // 1024

        def ask(image):
            assert httpx.post(f"{server.url}{QUERY}", json=image, timeout=90).status_code == 200

        ask({"image": in_base64(solid("red"))})
        before = memory("VmHWM")
        list(clients.map(ask, [image] * 8))
        assert memory("VmHWM") < before + 400
        assert memory("VmRSS") < before + 150
