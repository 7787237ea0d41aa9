"""The file of API keys is replaced again and again under load: each key opens when it should, and never afterwards."""

import itertools
import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from support.server_process import served

QUERY = "/v1/collections/words/query"
ASK = {"text": "amber", "limit": 3}
STEADY = "a-key-that-stays-valid"
CLIENTS = 3


def key(generation):
    return f"a-key-of-generation-{generation:04}"


def write(file, generation, *, atomic):
    """Keys of one generation; in place as an editor would, or by a rename."""
    content = json.dumps({"keys": [{"key": STEADY, "role": "read"}, {"key": key(generation), "role": "read"}]})
    if atomic:
        file.with_suffix(".new").write_text(content)
        file.with_suffix(".new").replace(file)
    else:
        with file.open("w") as opened:
            for part in (content[:20], content[20:]):
                opened.write(part)
                opened.flush()


@pytest.mark.parametrize(
    ("rotations", "workers"),
    [(3, 1), pytest.param(60, 1, marks=pytest.mark.slow), pytest.param(30, 2, marks=pytest.mark.slow)],
)
def test_rotated_keys_open_from_their_reload_on_and_never_after_the_next(catalog, tmp_path, rotations, workers):
    file, ended, seen = tmp_path / "keys.json", threading.Event(), Counter()
    write(file, 0, atomic=True)

    def ask(asked_with):
        return httpx.post(f"{server.url}{QUERY}", json=ASK, headers={"X-API-Key": asked_with}, timeout=60).status_code

    def ask_until_ended():
        with httpx.Client(base_url=server.url, timeout=60) as client:
            for number in itertools.count():
                if ended.is_set():
                    return
                asked_with = STEADY if number % 3 else key(number % (rotations + 1))
                status = client.post(QUERY, json=ASK, headers={"X-API-Key": asked_with}).status_code
                seen["steady" if number % 3 else "rotated", status] += 1

    settings = {"keys_file": file, "max_wrong_keys": 0, "default_timeout_ms": 60_000}
    with served(catalog, "--workers", workers, **settings) as server, ThreadPoolExecutor(CLIENTS) as pool:
        server.wait_until_all_have_loaded("words", workers)  # one that starts later reads the next keys as its first
        asking = [pool.submit(ask_until_ended) for _ in range(CLIENTS)]
        try:
            for generation in range(1, rotations + 1):
                write(file, generation, atomic=generation % 2 == 0)
                while sum("API keys were read anew: 2" in line for line in server.log) < generation * workers:
                    assert not any(future.done() for future in asking)
                assert {ask(key(generation)) for _ in range(4)} == {200}
                assert {ask(key(generation - 1)) for _ in range(4)} == {401}
        finally:
            ended.set()
        for future in asking:
            future.result()
    assert {status for who, status in seen if who == "steady"} == {200}
    assert {status for who, status in seen if who == "rotated"} <= {200, 401}
    assert not any(STEADY in line or "generation" in line for line in server.log)
