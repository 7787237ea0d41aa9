"""An encoder that drips its answers: texts fail in time, vectors are answered, and its threads are free again."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from support import catalogs
from support.dripping import DRIPS, dripping
from support.embeddings import data
from support.server_process import served

QUERY = "/v1/collections/words/query"
VECTOR = catalogs.words().query_bank[0].tolist()
BODY = json.dumps(data(VECTOR)).encode()
QUICK = ("an answer", "a failure that is tried again")
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(BODY), BODY)


@pytest.mark.parametrize(
    "what", [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in DRIPS]
)
def test_encoder_that_drips_holds_no_thread(catalog, what):
    is_well = threading.Event()
    encoder = {"type": "openai", "model": "words", "timeout": 0.3, "cache": 0, "breaker_failures": 10_000}
    with dripping(*DRIPS[what], is_well, WHOLE) as peer:
        encoders = json.dumps({"words": encoder | {"url": f"http://{peer}/v1"}})
        with served(catalog, encoders=encoders) as server:

            def ask(**query):
                return httpx.post(f"{server.url}{QUERY}", json=query, timeout=60)

            with ThreadPoolExecutor(12) as pool:
                codes = {*pool.map(lambda _: ask(text="amber").json()["code"], range(12))}
            assert codes <= {"encoder_timeout", "too_many_requests", "deadline_exceeded"}
            assert "encoder_timeout" in codes
            assert ask(vector=VECTOR).status_code == 200
            is_well.set()
            assert ask(text="amber").status_code == 200
