"""Corrections of scores over HTTP: learned or put as a file, kept by name, and used by lists of any search."""

import json
import sqlite3
import time
from contextlib import ExitStack, closing

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.contract import code_of, problem
from support.files import arrow_stream
from support.score_logs import as_lists, hubby_log
from support.serving import serving_catalog

import hubless
from hubless.scores.fusion import FUSIONS

STREAM, FILE = (f"application/vnd.apache.arrow.{kind}" for kind in ("stream", "file"))
READ, ADMIN, LIMITED = "reader-0123456789", "admin-0123456789", "limited-0123456789"
SQL = """SELECT id, score - coalesce(offset, ?) AS s FROM hits LEFT JOIN offsets USING (id) ORDER BY s DESC LIMIT 10"""
TABLE = {"ids": [["a", "b"], ["a"]], "scores": [[2.0, 1.0], [3.0]]}


@pytest.fixture(scope="module")
def logs():
    """Logs of two searches, and lists of each for the same queries; the right item of each query."""
    searches = [hubby_log(seed=seed) for seed in (0, 7)]
    now = [hubby_log(queries=60, seed=seed) for seed in (1, 8)]
    return [as_lists(*each[:2]) for each in searches], [as_lists(*each[:2]) for each in now], now[0][2]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A catalog with a collection whose ids are those of the lists."""
    path, rng = tmp_path_factory.mktemp("scored"), np.random.default_rng(2)
    vectors = rng.normal(size=(300, 8)).astype(np.float32)
    bank = rng.normal(size=(150, 8)).astype(np.float32)
    hubless.build(path, "photos", vectors, query_bank=bank, ids=list(range(300)), payload={"odd": np.arange(300) % 2})
    return path


@pytest.fixture(scope="module")
def http(place, contract, logs):
    with serving_catalog(place) as url, contract.client(url, timeout=60) as client:
        for name, lists in zip(("words", "vectors"), logs[0], strict=True):
            assert client.put(f"/v1/scores/{name}", json={"lists": lists}).status_code == 201
        yield client


@pytest.fixture(scope="module")
def fitted(http, logs):
    """Of each name the correction of the library, and lists to correct; `far` is of distances."""
    far = [
        [{"ids": each["ids"], "scores": [9 - score for score in each["scores"]]} for each in lists]
        for lists in (logs[0][0], logs[1][0])
    ]
    assert http.put("/v1/scores/far", json={"lists": far[0], "distance": True}).json()["distance"] is True
    made = {name: (hubless.ScoreCorrection.fit(logs[0][n]), logs[1][n]) for n, name in enumerate(("words", "vectors"))}
    return made | {"far": (hubless.ScoreCorrection.fit(far[0], distance=True), far[1])}


def rerank(http, *lists, **options):
    answer = http.post("/v1/rerank", json={"lists": lists, **options})
    assert answer.status_code == 200, answer.text
    return answer.json()


def columns(answer):
    return [[hit[name] for hit in answer["hits"]] for name in ("id", "score", "parts")]


def test_library_command_service_and_sql_give_one_answer(http, logs, run, tmp_path):
    """Of the same log: fitted in Python, by the command into both kinds of files, and by the service."""
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(each) + "\n" for each in logs[0][0]))
    for ending in ("parquet", "arrow"):
        assert run("log", log, "--output", tmp_path / f"offsets.{ending}").code == 0
    library = hubless.ScoreCorrection.fit(logs[0][0])
    command = hubless.ScoreCorrection.load(tmp_path / "offsets.parquet")
    sent = (tmp_path / "offsets.arrow").read_bytes()
    assert http.put("/v1/scores/from-file", content=sent, headers={"content-type": FILE}).status_code == 201
    moved = 0
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE offsets (id INTEGER PRIMARY KEY, offset REAL)")
        database.executemany("INSERT INTO offsets VALUES (?, ?)", list(command.offsets.items()))
        database.execute("CREATE TABLE hits (id INTEGER, score REAL)")
        for each in logs[1][0]:
            given = [*each["ids"], 10**6], [*each["scores"], each["scores"][-1]]
            wanted = library.rerank(*given, 10)
            assert command.rerank(*given, 10) == wanted
            for name in ("words", "from-file"):
                found = columns(rerank(http, {"ids": given[0], "scores": given[1], "correction": name}))
                assert found == [wanted.ids, wanted.scores, [[score] for score in wanted.scores]]
            database.execute("DELETE FROM hits")
            database.executemany("INSERT INTO hits VALUES (?, ?)", list(zip(*given, strict=True)))
            there = database.execute(SQL, (command.smallest,)).fetchall()
            assert there == list(zip(wanted.ids, wanted.scores, strict=True))
            moved += wanted.ids[0] != given[0][0]
    assert moved > 10


VECTOR = np.random.default_rng(4).normal(size=8).astype(np.float32)
MIXED, OTHER = {"ids": ["x", "y", "z"], "scores": [1.0, 3.0, 2.0]}, {"ids": ["y"], "scores": [5.0]}
ASKED = {"collection": "photos", "vector": VECTOR.tolist()}
ODD = {"filter": {"odd": 1}, "limit": 5, "strength": 0}


@pytest.mark.parametrize("now", [0, 7, 19])
def test_lists_are_corrected_each_by_its_own_correction_and_then_fused(http, place, logs, fitted, now):
    """As `ScoreCorrection.rerank`, `Collection.query` and `fuse` do it."""
    index = hubless.open(place, "photos")
    sent, right = {}, {}
    for name, (correction, lists) in fitted.items():
        ids, scores = lists[now]["ids"], lists[now]["scores"]
        sent[name] = {"ids": ids, "scores": scores, "correction": name}
        right[name] = correction.rerank(ids, scores)
        right[f"half {name}"] = correction.rerank(ids, scores, strength=0.5)
    sent |= {"half vectors": sent["vectors"] | {"strength": 0.5}, "none": {"ids": [], "scores": []}}
    sent |= {"photos": ASKED, "odd": ASKED | ODD}
    found = index.query(VECTOR, 50), index.query(VECTOR, **ODD)
    right |= {name: (hits.ids[0], hits.scores[0].tolist()) for name, hits in zip(("photos", "odd"), found, strict=True)}
    right["none"] = [], []
    calls = [(["words", "half vectors", "none"], [0.25, 1, 1], {"limit": 7, "fusion": by}) for by in FUSIONS]
    calls += [(["words", "photos"], [1, 2], {"limit": 60}), (["far"], [1], {"limit": 5}), (["odd"], [1], {})]
    for names, weights, options in calls:
        lists = [sent[name] | {"weight": weight} for name, weight in zip(names, weights, strict=True)]
        ids, scores, parts = columns(rerank(http, *lists, **options))
        if len(names) > 1:
            wanted = hubless.fuse(
                [right[name] for name in names],
                weights=weights,
                by=options.get("fusion", "min_max"),
                limit=options["limit"],
            )
            np.testing.assert_allclose(np.sort(parts, axis=0), np.sort(wanted[2], axis=0), atol=1e-5)
        else:
            wanted = [each[: options.get("limit")] for each in right[names[0]][:2]]
        assert scores == pytest.approx(list(wanted[1]), abs=1e-5)
        assert sorted(ids) == sorted(wanted[0])


def test_list_without_correction_is_sorted_and_a_distance_is_better_when_lower(http):
    assert columns(rerank(http, MIXED))[:2] == [["y", "z", "x"], [3.0, 2.0, 1.0]]
    assert columns(rerank(http, {**MIXED, "distance": True}))[0] == ["x", "z", "y"]
    fused = rerank(http, {**MIXED, "distance": True}, OTHER, fusion="min_max")
    assert fused["unknown"] == [0, 0]
    assert columns(fused) == [["x", "y", "z"], [1.0, 1.0, 0.5], [[1.0, 0.0], [0.0, 1.0], [0.5, 0.0]]]


def test_hits_of_a_collection_come_with_their_payload(http):
    query = {"collection": "photos", "vector": [1.0] * 8}
    listed = {"ids": [10**6], "scores": [1.0], "weight": 5, "correction": "words"}
    answer = rerank(http, listed, {**query, "with": ["payload"]}, {**query, "strength": 0}, limit=30)
    assert answer["unknown"] == [1, 0, 0]
    hits = answer["hits"]
    assert [hit.get("payload") for hit in hits[:20]] == [None, *({"odd": hit["id"] % 2} for hit in hits[1:20])]
    assert "payload" not in hits[0]
    assert all("payload" not in hit for hit in rerank(http, query)["hits"])


def test_labels_make_confidence_a_probability_and_min_accuracy_keeps_a_promise(http, logs):
    ids, scores, right = hubby_log(queries=800, seed=5)
    lists = [each | {"relevant": item} for each, item in zip(as_lists(ids, scores), right.tolist(), strict=True)]
    about = http.put("/v1/scores/sure", json={"lists": logs[0][0], "labelled": lists}).json()
    assert (about["pairs"], 0.8 in about["accuracies"]) == (800, True)
    cut = hubless.ScoreCorrection.fit(logs[0][0]).calibrate(lists, right.tolist())
    seen = set()
    for each in logs[1][0]:
        answer = rerank(http, {**each, "correction": "sure"}, min_accuracy=0.8)
        assert (answer["confidence"], answer["calibrated"]) == (cut.confidence(each["ids"], each["scores"]), True)
        assert answer["answered"] == cut.accept(each["ids"], each["scores"], 0.8) == bool(answer["hits"])
        seen.add(answer["answered"])
    assert seen == {True, False}
    unsure = rerank(http, {**logs[1][0][0], "correction": "words"})
    assert (unsure["calibrated"], unsure["answered"]) == (False, True)


def test_cut_of_fused_scores_tells_their_confidence(http, logs):
    pairs = [
        [{**each, "correction": name} for each, name in zip(pair, ("words", "vectors"), strict=True)]
        for pair in zip(*logs[1], strict=True)
    ]
    past = [columns(rerank(http, *pair, limit=11))[1] for pair in pairs]
    cut = hubless.Cut.fit(past).calibrate(past, np.arange(len(past)) % 3 > 0)
    sure = [rerank(http, *pair, cut=cut.as_json(), limit=2)["confidence"] for pair in pairs]
    assert sure == [cut.confidence(scores) for scores in past]
    assert "confidence" not in rerank(http, *pairs[0])


LIST = {"ids": ["a", "b"], "scores": [2.0, 1.0]}


def put_arrow(http, table, kind=STREAM, params=None, **options):
    return http.put(
        "/v1/scores/arrow", params=params, content=arrow_stream(table, **options), headers={"content-type": kind}
    )


def test_arrow_streams_of_lists_and_of_hits_say_the_same(http):
    long = pa.table({"query": [1, 1, 2], "id": ["a", "b", "a"], "score": [2.0, 1.0, 3.0]})
    made = [put_arrow(http, table).json() for table in (pa.table(TABLE), long)]
    assert made[0] == made[1]
    assert made[0]["items"] == 2


def stored(tmp_path, **metadata):
    """The table of a file of the library, with other metadata."""
    hubless.ScoreCorrection.fit([(["a", "b"], [2.0, 1.0])]).save(tmp_path / "x.arrow")
    with pa.ipc.open_file(tmp_path / "x.arrow") as file:
        table = file.read_all()
    said = json.loads(table.schema.metadata[b"hubless.scores"]) | metadata
    return table.replace_schema_metadata({"hubless.scores": json.dumps(said)})


@pytest.mark.parametrize(
    "metadata",
    [
        {"format": 99},
        {"details": 3},
        {"details": {"deep": [[[[]]]]}},
        {"details": {str(number): 1 for number in range(1000)}},
        {"cut": {"temperature": 1}},
        {"cut": [1]},
        {"cut": 5},
    ],
)
def test_correction_whose_metadata_says_something_else_is_refused(http, tmp_path, metadata):
    assert put_arrow(http, stored(tmp_path)).is_success
    problem(put_arrow(http, stored(tmp_path, **metadata)))


def test_compressed_streams_repeated_ids_and_parquet_are_refused(http, tmp_path):
    assert "compressed" in problem(put_arrow(http, pa.table(TABLE), compression="zstd"))
    twice = pa.concat_tables([stored(tmp_path)] * 2)
    assert "each item once" in problem(put_arrow(http, twice))
    assert code_of(put_arrow(http, pa.table(TABLE), FILE)) == (400, "malformed_body")
    assert code_of(put_arrow(http, pa.table(TABLE), "application/vnd.apache.parquet")) == (
        415,
        "unsupported_media_type",
    )


def test_corrections_are_listed_described_replaced_and_deleted(http, logs):
    path = "/v1/scores/brief"
    about = http.put(path, json={"lists": logs[0][0]})
    assert about.status_code == 201
    assert (about.json()["items"], about.json()["pairs"], about.json()["accuracies"]) == (300, 0, [])
    assert about.json()["details"]["lists"] == 400
    assert http.get(path).json() == about.json()
    assert about.json() in http.get("/v1/scores").json()["scores"]
    again = http.put(path, json={"lists": [LIST]})
    assert (again.status_code, again.json()["items"], again.json()["pairs"]) == (200, 2, None)
    assert columns(rerank(http, {**LIST, "correction": "brief"}))[0] == ["a", "b"]
    assert http.delete(path).json() == {"name": "brief", "deleted": True}
    for answer in (http.get(path), http.delete(path)):
        assert code_of(answer) == (404, "scores_not_found")
    assert "brief" not in [each["name"] for each in http.get("/v1/scores").json()["scores"]]


def test_corrections_outlive_the_server_and_a_damaged_file_is_named(place, http, logs):
    wanted = http.get("/v1/scores/words").json()
    with serving_catalog(place) as url, httpx.Client(base_url=url) as other:
        assert other.get("/v1/scores/words").json() == wanted
        other.put("/v1/scores/torn", json={"lists": [LIST]})
        (place / ".scores" / "torn.arrow").rename(place / ".scores" / "sound")
        (place / ".scores" / "torn.arrow").write_bytes(b"ARROW1")
        torn = other.get("/v1/scores/torn")
        assert code_of(torn) == (503, "storage")
        assert "put the scores again" in torn.json()["detail"]
        assert str(place) not in torn.text
        assert other.put("/v1/scores/torn", json={"lists": [LIST]}).status_code == 200
        assert other.delete("/v1/scores/torn").status_code == 200


NAMED_KEYS = [
    {"key": key, "role": role, "name": name}
    for name, key, role in [("boss", ADMIN, "admin"), ("shop", READ, "read"), ("stranger", LIMITED, "read")]
]


@pytest.fixture
def learning(place, tmp_path, monkeypatch):
    """Two servers of one catalog, as workers are, that write and look at once; and a client of each for each key."""
    monkeypatch.setattr("hubless_service.observing.sampling._WRITE_SECONDS", 0.0)
    monkeypatch.setattr("hubless_service.maintaining.maintainer.LOOK_SECONDS", 0.05)
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": NAMED_KEYS}))
    with ExitStack() as stack:
        urls = [stack.enter_context(serving_catalog(place, keys_file=keys)) for _ in range(2)]
        yield {
            key["name"]: [
                stack.enter_context(httpx.Client(base_url=url, headers={"X-API-Key": key["key"]}, timeout=60))
                for url in urls
            ]
            for key in NAMED_KEYS
        }


def test_what_any_worker_is_asked_is_learned_in_a_process_of_its_own(learning, logs):
    """Answers of both become others, by lists of a trusted key; a stranger's one list is kept, and counts for one."""
    lists, boss = logs[0][0][:221], learning["boss"]
    about = boss[0].put("/v1/scores/learner", json={"lists": lists[:60], "learn": True, "trusted": ["shop"]}).json()
    assert (about["learning"], about["work"], about["details"]["lists"]) == (0, None, 60)
    assert (about["counted"], about["held_back"]) == ({"queries": 0, "clients": 0, "clients_needed": 10}, [])
    for number, each in enumerate(lists[60:220]):
        rerank(learning["shop"][number % 2], {**each, "correction": "learner"})
        rerank(learning["stranger"][number % 2], {**lists[220], "correction": "learner"})
    while "learned" not in (about := boss[1].get("/v1/scores/learner").json())["details"]:
        assert (about["work"] or {}).get("state") != "failed", about
        time.sleep(0.05)
    assert about["work"]["work"] == "scores"
    assert about["counted"]["clients_needed"] == 1
    assert about["details"]["learned"] >= 100 * 2 // 3
    moved = 0
    for each in logs[1][0][:20]:
        given = {**each, "correction": "learner"}
        before = hubless.ScoreCorrection.fit(lists[:60]).rerank(each["ids"], each["scores"], 10)
        answers = [
            columns(client.post("/v1/rerank", json={"lists": [given]}, headers={"X-No-Sample": "1"}).json())
            for client in boss
        ]
        assert answers[0] == answers[1]
        moved += before.ids != answers[0][0]
    assert moved


def test_learning_is_off_unless_asked_and_a_put_without_it_forgets(learning, logs, place):
    client = learning["boss"][0]
    lists = logs[0][0]

    def put(**more):
        return client.put("/v1/scores/still", json={"lists": lists[:50], **more}).json()["learning"]

    for before, more in ((None, {}), (0, {"learn": True})):
        assert put(**more) == before
        rerank(client, {**lists[0], "correction": "still"})
    while client.get("/v1/scores/still").json()["learning"] != 1:
        time.sleep(0.02)
    home = place / ".scores" / "still.learned"
    (day,) = home.glob("2*.parquet")
    assert pq.read_table(day).column_names == ["ids", "scores", "draw", "count", "client"]
    assert pq.read_table(day)["client"].to_pylist() == ["boss"]
    assert put() is None
    assert not home.exists()


def test_lists_of_arrow_may_learn_and_a_file_of_the_command_may_not(http, tmp_path):
    learn = {"learn": "true"}
    assert put_arrow(http, pa.table(TABLE), params=learn | {"trusted": '["shop"]'}).json()["learning"] == 0
    assert "learn: expected lists beside it" in problem(put_arrow(http, stored(tmp_path), params=learn))
