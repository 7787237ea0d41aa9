import logging
import stat

import numpy as np
import pytest

from hubless.errors import InputError
from hubless.store import draws, kept_clicks
from hubless.store.draws import forget
from hubless.store.kept_clicks import Click, ClickWriter, read_clicks
from hubless.store.query_sample import SampledQuery, SampleWriter, read_sample

DAY = 86_400
NOON = 1_800_000_000 - 1_800_000_000 % DAY + DAY // 2
VECTORS = np.random.default_rng(0).normal(size=(600, 4)).astype(np.float32)
PEOPLE = [f"person {number}" for number in range(12)]


def clicks(clients, count=1, first=0):
    return [Click(VECTORS[first + row], f"t{row % 7}", 1, each) for each in clients for row in range(count)]


@pytest.fixture
def add(tmp_path):
    writer = ClickWriter(tmp_path)

    def add(some, key="shop", when=NOON, collection="c", kind="string"):
        writer.add(collection, "cosine", kind, some, key, when)

    return add


def counted(tmp_path):
    """How many clicks count, by client."""
    clients = read_clicks(tmp_path / "c")["client"].to_pylist()
    return {each: clients.count(each) for each in {*clients}}


def test_clicks_are_read_as_they_were_kept(tmp_path, add):
    add([Click(VECTORS[0], "a", 3, None)])
    add([Click(VECTORS[1], "b", None, None)], when=NOON + DAY)
    read = read_clicks(tmp_path / "c")
    assert str(read.schema.field("query").type) == "fixed_size_list<element: float>[4]"
    assert [str(read.schema.field(name).type) for name in ("target", "position")] == ["string", "int32"]
    rows = sorted(read.to_pylist(), key=lambda row: row["target"])
    assert [[row[name] for name in ("target", "position", "client")] for row in rows] == [
        ["a", 3, None],
        ["b", None, None],
    ]
    assert np.array_equal([row["query"] for row in rows], VECTORS[:2])
    assert (rows[1]["day"] - rows[0]["day"]).days == 1


def test_client_counts_once_for_a_query_and_a_target_and_for_a_tenth_at_most(tmp_path, add):
    for when in (NOON, NOON + DAY):
        add(clicks(["flood"]) * 1000 + clicks(PEOPLE, 2), when=when)
    assert sorted(counted(tmp_path).values()) == [1] + [2] * 12
    add(clicks(["flood"], 500))
    assert sorted(counted(tmp_path).values()) == [2] * 13


def test_key_that_names_nobody_is_believed_and_each_of_its_clicks_counts(tmp_path, add):
    add(clicks([None]) * 50 + clicks(PEOPLE[:3], 20))
    assert sorted(counted(tmp_path).values()) == [7, 7, 7, 50]


def test_few_clients_that_nobody_is_beside_are_refused_with_how_many_are_needed(tmp_path, add):
    with pytest.raises(InputError, match=r"clicks: expected a folder .* that has clicks, got none in"):
        read_clicks(tmp_path / "c")
    add(clicks(PEOPLE[:9], 30))
    with pytest.raises(InputError, match=r"clicks: expected those of 10 clients, or of a key .*, got of 9"):
        read_clicks(tmp_path / "c")


def rows_in(folder):
    return sum(len(day.rows) for day in draws.read_days(folder))


def test_a_day_keeps_a_uniform_sample_and_only_the_last_are_written_again_with_each_that_comes(
    tmp_path, add, monkeypatch
):
    monkeypatch.setattr(kept_clicks, "SIZE", 400)
    for start in range(0, 600, 50):
        add([Click(vector, "a", None, None) for vector in VECTORS[start : start + 50]])
        assert rows_in(tmp_path / "c" / "clicks.new") == (start + 50) % 300
    kept = {tuple(row) for row in read_clicks(tmp_path / "c")["query"].to_pylist()}
    by_time = [sum(tuple(row.tolist()) in kept for row in part) for part in np.split(VECTORS, 4)]
    assert len(kept) == 400
    assert min(by_time) > 70


def test_clicks_that_a_kill_left_in_both_folders_count_once(tmp_path, add, monkeypatch):
    monkeypatch.setattr(kept_clicks, "days_of", lambda folder: [])  # they stay where they were
    add(clicks([None], 300))
    assert len(list((tmp_path / "c").glob("clicks*/*.parquet"))) == 2
    assert counted(tmp_path) == {None: 300}


def test_clicks_unlike_the_newest_are_left_out_and_named(tmp_path, add, caplog):
    caplog.set_level(logging.WARNING, "hubless.sample")
    add(clicks([None], 5))
    add([Click(VECTORS[0], 7, 1, None)], when=NOON + DAY, kind="int64")
    assert read_clicks(tmp_path / "c")["target"].to_pylist() == [7]
    assert "are left out: they are unlike those of" in caplog.text


def test_clicks_are_their_owners_alone_go_with_their_day_and_are_no_queries(tmp_path, add):
    add(clicks([None], 300))
    add(clicks([None], 4, first=300), when=NOON + 29 * DAY)
    places = [tmp_path / "c", *(tmp_path / "c").rglob("*.parquet"), *(tmp_path / "c").glob("clicks*")]
    assert len(places) == 5
    assert {stat.S_IMODE(place.stat().st_mode) & 0o077 for place in places} == {0}
    queries = SampleWriter(tmp_path)
    queries.add([SampledQuery("c", "cosine", VECTORS[0], "a")], NOON + 31 * DAY)
    queries.forget_old(NOON + 31 * DAY, 30)
    assert counted(tmp_path) == {None: 4}
    assert len(read_sample(tmp_path / "c").vectors) == 1
    with pytest.raises(InputError, match="other files"):
        read_sample(tmp_path / "c" / "clicks.new")


@pytest.mark.parametrize(
    ("client", "gone", "left"),
    [("person 1", 2 + 1, 24), ("shop", 24, 2), ("10.0.0.7", 2, 24), ("nobody", 0, 26), (None, 26 + 1, 0)],
)
def test_forgetting_a_client_forgets_its_clicks_by_whatever_it_is_called(tmp_path, add, client, gone, left):
    add(clicks(PEOPLE, 2))
    add(clicks([None], 2, first=9), key=b"10.0.0.7")
    SampleWriter(tmp_path).add([SampledQuery("c", "cosine", VECTORS[0], "person 1")], NOON)
    assert forget(tmp_path / "c", client) == gone
    assert rows_in(tmp_path / "c" / "clicks.new") == left
