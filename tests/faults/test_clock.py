"""The clock on the wall may jump, as when it is set: what is timed goes by another one."""

import itertools
import time

import httpx
import pytest
from support.held import Held
from support.serving import serving
from support.sources import Source

import hubless
from hubless_service.app import create_app
from hubless_service.searching.search_service import SearchService
from hubless_service.settings import Settings

QUERY = "/v1/collections/words/query"
DAY = 86_400


@pytest.fixture
def jumping(monkeypatch):
    """Every look at the clock on the wall finds it a day ahead of the last one, or a day behind."""
    now, jumps = time.time, itertools.cycle([DAY, -DAY, 0, -40 * DAY, 40 * DAY])
    monkeypatch.setattr("time.time", lambda: now() + next(jumps))
    monkeypatch.setattr("time.time_ns", lambda: int(1e9 * time.time()))


@pytest.mark.usefixtures("jumping")
def test_deadlines_time_outs_and_polling_hold_while_the_clock_jumps(catalog):
    words = Held(hubless.open(catalog, "words"), free=True)
    settings = Settings(catalog=catalog, poll_seconds=0.02, receive_seconds=0.3, default_timeout_ms=5000)
    source = Source({"words": words})
    with (
        serving(create_app(settings, SearchService(source, settings))) as base_url,
        httpx.Client(base_url=base_url) as client,
    ):
        while client.get("/readyz").status_code == 503:
            time.sleep(0.01)
        assert [client.post(QUERY, json={"text": "amber"}).status_code for _ in range(20)] == [200] * 20
        words.free.clear()
        held = {"text": "amber", "limit": 3, "timeout_ms": 50}  # not known to be cheap, and so left to a search thread
        assert client.post(QUERY, json=held).json()["code"] == "deadline_exceeded"
        words.free.set()
        source.collections["more"] = words
        while len(client.get("/readyz").json()["collections"]) < 2:
            time.sleep(0.01)
        never = (time.sleep(0.1) or b" " for _ in range(10))
        headers = {"content-type": "application/json"}
        assert client.post(QUERY, content=never, headers=headers).json()["code"] == "request_timeout"
        assert client.get("/metrics").status_code == 200
