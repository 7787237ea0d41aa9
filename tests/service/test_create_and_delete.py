"""Creating, deleting, writing and asking at once: every answer is one of those that the situation has."""

import threading
import time
from collections import Counter

import httpx
from support import writing
from support.server_process import served

NAME = "short-lived"
CREATE = {"dim": 4, "metric": "cosine", "id_type": "string"}
RIGHT = {(200, None), (201, None), (404, "collection_not_found"), (503, "not_ready")}


def requests_of(number):
    """The same requests again and again, of one client."""
    path = f"/v1/collections/{NAME}"
    points = {"points": [{"id": str(number), "vector": [1, 2, 3, number + 1], "payload": {"a": number}}]}
    return [
        ("PUT", path, CREATE),
        ("DELETE", path, None),
        ("PUT", f"{path}/points", points),
        ("PUT", f"{path}/points", points),
        ("POST", f"{path}/scroll", {"limit": 3}),
        ("POST", f"{path}/query", {"vector": [1, 2, 3, 4]}),
    ][number]


def test_every_answer_is_right_while_a_collection_comes_and_goes(tmp_path):
    writing.build(tmp_path)
    seen, details = Counter(), {}
    with served(tmp_path, workers=2) as server:
        end = time.monotonic() + 4

        def ask(number):
            method, path, body = requests_of(number)
            with httpx.Client(base_url=server.url, timeout=60) as client:
                while time.monotonic() < end:
                    answer = client.request(method, path, json=body)
                    found = answer.status_code, answer.json().get("code")
                    seen[found] += 1
                    details[found] = f"{method} {path}: {answer.json().get('detail')}"

        threads = [threading.Thread(target=ask, args=[number]) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {*seen} <= RIGHT, {found: (seen[found], details[found]) for found in seen.keys() - RIGHT}
    assert seen[201, None]
    assert seen[200, None]
