"""A catalog without collections: the server is ready, says so, and serves the first one when it comes."""

import time

import httpx
from support import small
from support.serving import serving, wait_until_ready

from hubless_service.app import create_app
from hubless_service.settings import Settings


def test_empty_catalog_is_ready_with_nothing_to_serve_until_the_first_collection_comes(tmp_path, caplog, contract):
    caplog.set_level("INFO", "hubless.catalog")
    catalog = tmp_path / "catalog"
    catalog.mkdir()
    with serving(create_app(Settings(catalog=catalog, poll_seconds=0.05))) as url:
        ready = wait_until_ready(url)
        assert ready.status_code == 200
        assert ready.json() == {
            "status": "ready",
            "note": "There is nothing to serve: the catalog is empty. Build a collection with hubless build.",
            "collections": {},
        }
        assert httpx.get(f"{url}/v1/collections").json()["collections"] == []
        (line,) = (record for record in caplog.records if record.name == "hubless.catalog")
        assert (line.levelname, line.getMessage()) == (
            "WARNING",
            "There is nothing to serve: the catalog is empty. Build a collection with hubless build. "
            "It is served within 0.05 s.",
        )
        small.build(catalog, "first")
        while httpx.get(f"{url}/readyz").json()["collections"].get("first", {}).get("status") != "ready":
            time.sleep(0.01)
        assert "note" not in httpx.get(f"{url}/readyz").json()
        query = {"vector": small.targets()[0].tolist(), "limit": 2}
        assert len(httpx.post(f"{url}/v1/collections/first/query", json=query).json()["hits"]) == 2
