import os

import pytest
from support import small, writing
from support.writing import NAME, point, writable

import hubless
from hubless.errors import HublessError, StorageError

WAYS = ["catalog", "./catalog", "other/../catalog", "link", "other/up"]


@pytest.fixture
def catalog(tmp_path, monkeypatch):
    """A catalog in the folder that the process is in, and links to it. Its absolute path."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to("catalog")
    (tmp_path / "other" / "up").symlink_to(tmp_path / "link")
    writing.build("catalog")
    return tmp_path / "catalog"


def test_every_path_of_a_catalog_leads_to_one_log(catalog):
    for number, way in enumerate(WAYS):
        with writable(way) as client:
            assert client.put("/points", json={"points": [point(way, number)]}).json()["seq"] == number + 1
        assert hubless.Catalog(way).path == catalog
    found = hubless.open(catalog, NAME)
    assert [found.point(way).id for way in WAYS] == WAYS


@pytest.mark.parametrize("way", ["catalog", "link"])
def test_commands_take_in_what_was_written(run, catalog, way):
    with writable(catalog) as client:
        client.put("/points", json={"points": [point("new", 7)]}).raise_for_status()
    at = ("--catalog", way, "--collection", NAME)
    asked = run("query", *at, "--text", "amber", "--limit", 1000, "--json")
    assert "new" in {hit["id"] for hit in asked.json["results"][0]["hits"]}
    assert run("inspect", *at, "--json").code == 0
    assert run("merge", *at).code == 0
    assert small.check_complete(catalog).manifest.count == small.COUNT + 1


def test_index_stays_with_its_catalog_when_the_process_changes_its_folder(catalog, monkeypatch):
    home = hubless.Catalog("link")
    with writable("link") as client:
        client.put("/points", json={"points": [point("new", 7)]}).raise_for_status()
    index = hubless.open(home, NAME)
    monkeypatch.chdir(catalog.parent / "other")
    assert index.point("new").id == "new"
    assert home.collections() == [NAME]
    assert index.save("../catalog", NAME).log_seq == 1
    assert not (catalog.parent / "other" / "catalog").exists()


def test_link_to_itself_and_a_folder_that_is_gone_are_told(tmp_path, monkeypatch):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(HublessError, match="there is no catalog here"):
        hubless.open(tmp_path / "loop", NAME)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(StorageError, match="no such file or folder"):
        hubless.Catalog("catalog")
    os.chdir(tmp_path)
