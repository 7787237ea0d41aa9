import stat
from contextlib import contextmanager
from datetime import date

import numpy as np
import pytest

from hubless.errors import InputError
from hubless.store import draws, kept_clicks
from hubless.store.durable import locked
from hubless.store.kept_clicks import Click, ClickWriter, read_clicks
from hubless.store.query_sample import SampledQuery, SampleWriter

DAY = 86_400
VECTORS = np.random.default_rng(0).normal(size=(600, 4)).astype(np.float32)
PEOPLE = [f"person {number}" for number in range(12)]


def clicks(clients, count=1, first=0):
    return [Click(VECTORS[first + row], f"t{row % 7}", 1, each) for each in clients for row in range(count)]


@pytest.fixture
def add(tmp_path):
    writer = ClickWriter(tmp_path)
    return lambda some, day=20, key="shop", kind="string": writer.add("c", "cosine", kind, some, key, day * DAY + 9)


def counts(tmp_path):
    """How many clicks count of each client, ascending."""
    clients = read_clicks(tmp_path / "c")["client"].to_pylist()
    return sorted(map(clients.count, {*clients}))


def rows_in(folder):
    return sum(len(day.rows) for day in draws.read_days(folder))


def test_clicks_are_read_as_they_were_kept_and_those_unlike_the_newest_are_left_out(tmp_path, add, caplog):
    add([Click(VECTORS[1], "b", 3, None)])
    add([Click(VECTORS[0], 7, None, None)], 21, kind="int64")
    (row,) = read_clicks(tmp_path / "c").to_pylist()
    assert "are left out: they are unlike those of" in caplog.text
    expected = {"target": 7, "position": None, "client": None, "day": date(1970, 1, 22)}
    assert row == {"query": VECTORS[0].tolist(), **expected}


def test_client_counts_once_for_a_query_and_a_target_and_for_a_tenth_at_most(tmp_path, add):
    others = [each._replace(target="another") for each in clicks(PEOPLE)]
    for day in (20, 21):
        add(clicks(["flood"]) * 1000 + clicks(PEOPLE) + clicks(PEOPLE, first=1) + others, day)
    assert counts(tmp_path) == [1] + [3] * 12
    add(clicks(["flood"], 500))
    assert counts(tmp_path) == [3] * 12 + [4]


def test_ten_clients_are_needed_but_a_key_that_names_nobody_is_believed(tmp_path, add):
    with pytest.raises(InputError, match=r"clicks: expected a folder .* that has clicks, got none in"):
        read_clicks(tmp_path / "c")
    add(clicks(PEOPLE[:9], 60))
    with pytest.raises(InputError, match=r"clicks: expected those of 10 clients, or of a key .*, got of 9"):
        read_clicks(tmp_path / "c")
    add(clicks([None]) * 50)
    assert counts(tmp_path) == [50] * 10  # 50 is a tenth of 50 + 9·50


def test_a_day_is_a_uniform_sample_and_only_the_last_are_written_again_with_each_that_comes(tmp_path, add, monkeypatch):
    monkeypatch.setattr(kept_clicks, "SIZE", 400)
    for start in range(0, 600, 50):
        add(clicks([None], 50, start))
        assert rows_in(tmp_path / "c" / "clicks.new") == (start + 50) % 300
    kept = {tuple(row) for row in read_clicks(tmp_path / "c")["query"].to_pylist()}
    assert len(kept) == 400
    assert min(sum(tuple(row.tolist()) in kept for row in part) for part in np.split(VECTORS, 4)) > 70


def test_client_that_a_key_names_fills_no_more_than_its_share_of_a_day(tmp_path, add, monkeypatch):
    monkeypatch.setattr(kept_clicks, "OF_A_CLIENT", 10)
    add(clicks(["flood"], 50))
    add(clicks([None], 20, 100))
    assert rows_in(tmp_path / "c" / "clicks.new") == 30


def test_clicks_that_a_kill_left_in_both_folders_count_once(tmp_path, add, monkeypatch):
    monkeypatch.setattr(kept_clicks, "days_of", lambda folder: [])  # they stay where they were
    add(clicks([None], 300))
    assert len(list((tmp_path / "c").glob("clicks*/*.parquet"))) == 2
    assert counts(tmp_path) == [300]


def test_files_are_their_owners_alone_and_go_with_their_day(tmp_path, add):
    add(clicks([None], 300))
    add(clicks([None], 4, 300), 49)
    places = [*tmp_path.rglob("*.parquet"), tmp_path / "c", *(tmp_path / "c").glob("clicks*")]
    assert [stat.S_IMODE(place.stat().st_mode) & 0o077 for place in places] == [0] * 5
    SampleWriter(tmp_path).forget_old(51 * DAY + 9, 30)
    assert counts(tmp_path) == [4]


@pytest.mark.parametrize(
    ("client", "gone", "left"),
    [("person 1", 2 + 2, 24), ("shop", 24, 2), ("10.0.0.7", 2, 24), ("nobody", 0, 26), (None, 26 + 2, 0)],
)
def test_forgetting_a_client_forgets_its_clicks_by_whatever_it_is_called(tmp_path, add, client, gone, left):
    add(clicks(PEOPLE, 2))
    add(clicks([None], 2, 9), key=b"10.0.0.7")
    for day in (20, 21):
        SampleWriter(tmp_path).add([SampledQuery("c", "cosine", VECTORS[0], "person 1")], day * DAY)
    assert draws.forget(tmp_path / "c", client) == gone
    assert rows_in(tmp_path / "c" / "clicks.new") == left


def test_clicks_that_pass_to_the_other_folder_meanwhile_are_forgotten_too(tmp_path, add, monkeypatch):
    add(clicks(["person 1"]))

    @contextmanager
    def late(path):
        if path.parent.name == "c" and not (tmp_path / "c" / "clicks").exists():
            add(clicks([None], 300))
        with locked(path):
            yield

    SampleWriter(tmp_path).add([SampledQuery("c", "cosine", VECTORS[0], "person 1")], 20 * DAY)
    monkeypatch.setattr(draws, "locked", late)
    assert draws.forget(tmp_path / "c", "person 1") == 2
    assert rows_in(tmp_path / "c" / "clicks") == 300
