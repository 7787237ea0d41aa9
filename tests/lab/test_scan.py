import json

import numpy as np
import pytest
from support.hubs import pairs, planted, unit
from typer.testing import CliRunner

import hubless
from hubless.cli.application import app
from hubless.errors import InputError
from hubless.lab.gallery import gallery_of, open_gallery
from hubless.lab.scan.scanning import FEWEST_QUERIES, scan
from hubless.lab.scan.sightings import Sightings, Topics, surprise

COUNT = 500
PLANTED = 1  # 0.2 %
TOP = COUNT // 100


def centroid(kind, queries, targets, topic):
    clusters = {f"topic {number}": queries[topic == number].mean(axis=0) for number in range(3)}
    return ({"queries": queries.mean(axis=0), "targets": targets.mean(axis=0)} | clusters)[kind]


@pytest.mark.parametrize("apart", [0.0, 1.5])
@pytest.mark.parametrize("kind", ["queries", "targets", "topic 0", "topic 1"])
def test_hub_planted_at_a_centroid_is_within_the_first_percent_of_the_list(kind, apart):
    queries, targets, topic = pairs(COUNT, apart=apart)
    everything = planted(targets, centroid(kind, queries, targets, topic), PLANTED)
    listed = [finding.target.row for finding in scan(open_gallery(everything), queries, budget=TOP).findings]
    assert COUNT in listed


def test_hub_of_one_topic_stands_first_where_a_count_over_all_queries_misses_it():
    queries, targets, topic = pairs(COUNT)
    rare = np.concatenate([np.flatnonzero(topic == 0)[:30], np.flatnonzero(topic != 0)])
    asked, everything = queries[rare], planted(targets, queries[topic == 0].mean(axis=0), 1)
    first, *_ = scan(open_gallery(everything), asked).findings
    assert first.target.row == COUNT
    assert first.measured.score > 2 * first.measured.overall
    assert first.measured.topic.rate > 0.8
    overall = scan(open_gallery(everything), asked, budget=COUNT).findings
    by_count = sorted(overall, key=lambda finding: -finding.measured.counts[20])
    assert [finding.target.row for finding in by_count].index(COUNT) > TOP


def test_planted_hub_loses_its_exposure_to_the_correction_and_counts_as_one_with_its_copies():
    queries, targets, _ = pairs(COUNT, apart=1.5)
    everything = planted(targets, queries.mean(axis=0), 3)
    first = scan(open_gallery(everything), queries).findings[0]
    assert sorted([first.target.row, *first.measured.near_duplicates]) == [COUNT, COUNT + 1, COUNT + 2]
    assert first.measured.counts[1] > 0.8 * len(queries)
    assert first.measured.exposure["corrected"] < 0.3 * first.measured.exposure["raw"]
    assert first.measured.offset_percentile > 0.99


def test_targets_as_queries_are_refused_with_the_reason_unless_forced():
    _, targets, _ = pairs(200)
    jittered = unit(targets[:50] + 0.001 * np.random.default_rng(0).normal(size=(50, targets.shape[1])))
    for queries in (targets[:50], jittered):
        with pytest.raises(InputError, match="finds itself first"):
            scan(open_gallery(targets), queries)
        assert "50 of the queries are targets" in scan(open_gallery(targets), queries, force=True).notes[0]


def test_fewer_queries_than_tell_a_hub_from_chance_are_refused():
    queries, targets, _ = pairs(100)
    with pytest.raises(InputError, match="at least 20"):
        scan(open_gallery(targets), queries[: FEWEST_QUERIES - 1])


def test_new_item_is_scored_as_if_it_were_there():
    queries, targets, topic = pairs(500)
    new = np.stack([queries[topic == 3].mean(axis=0), targets[7], -targets.mean(axis=0)])
    admitted = scan(open_gallery(targets), queries, admit=open_gallery(unit(new)), budget=3)
    by_row = {finding.target.row: finding for finding in admitted.findings}
    assert admitted.admitted == 3
    assert admitted.findings[0].target.row == 0
    assert by_row[0].above == 1
    assert by_row[1].measured.near_duplicates == [7]
    assert by_row[2].measured.counts == {1: 0, 10: 0, 20: 0}
    there = scan(open_gallery(planted(targets, unit(new[:1])[0], 1, seed=0)), queries, budget=1).findings[0]
    assert by_row[0].measured.counts == pytest.approx(there.measured.counts, abs=3)
    assert by_row[0].measured.score == pytest.approx(there.measured.score, abs=0.02)
    assert by_row[0].measured.exposure["raw"] == pytest.approx(there.measured.exposure["raw"], rel=0.05)


def test_score_of_what_is_first_for_all_is_one_and_of_chance_nothing():
    queries, targets = 20_000, 50
    rows = np.argsort(np.random.default_rng(0).random((queries, targets)), axis=1)[:, :20]
    rows[rows == 0] = rows[:, :1].repeat(20, axis=1)[rows == 0]
    rows[:, 0] = 0
    topics = [Topics(np.zeros(queries, np.int64), np.array([queries]))]
    found = surprise(Sightings.of(rows), targets, queries, targets, topics)
    assert found.score[0] == pytest.approx(1, abs=0.01)
    assert found.score[1:].max() < 0.01


def test_group_is_seen_once_by_a_query_where_its_first_member_is():
    seen = Sightings.of(np.array([[0, 1, 2], [2, 1, 0]])).together(np.array([0, 0, 2]))
    assert sorted(zip(seen.queries.tolist(), seen.items.tolist(), seen.places.tolist(), strict=True)) == [
        (0, 0, 0),
        (0, 2, 2),
        (1, 0, 1),
        (1, 2, 0),
    ]


@pytest.fixture
def files(tmp_path):
    queries, targets, _ = pairs(300, apart=1.5)
    everything = planted(targets, queries.mean(axis=0), 1)
    for name, rows in {"queries": queries, "targets": everything, "clean": targets, "new": everything[-1:]}.items():
        np.save(tmp_path / f"{name}.npy", rows)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["scan", *map(str, arguments)])


def test_exit_code_is_3_only_where_a_score_reaches_the_threshold(files):
    asked = ["--queries", files / "queries.npy", "--threshold", 0.5, "--json"]
    found = run("--targets", files / "targets.npy", *asked)
    assert found.exit_code == 3
    answer = json.loads(found.stdout)
    assert (answer["alerts"], answer["findings"][0]["target"]["row"]) == (1, 300)
    assert run("--targets", files / "clean.npy", *asked).exit_code == 0
    assert run("--targets", files / "clean.npy", *asked, "--admit", files / "new.npy").exit_code == 3
    assert run("--targets", files / "clean.npy", *asked, "--admit", files / "clean.npy").exit_code == 0


def test_table_names_the_hub_and_says_why(files):
    np.savetxt(files / "ids.txt", [f"item {row}" for row in range(301)], fmt="%s")
    found = run("--targets", files / "targets.npy", "--queries", files / "queries.npy", "--ids", files / "ids.txt")
    assert found.exit_code == 0
    line = next(line for line in found.stdout.splitlines() if "item 300" in line)
    assert "among the" in line


def test_targets_and_collection_together_are_wrong_usage(files):
    both = run("--targets", files / "targets.npy", "--collection", "x", "--queries", files / "queries.npy")
    assert both.exit_code == 2
    assert run("--queries", files / "queries.npy").exit_code == 2


def test_collection_gives_ids_payload_and_the_offsets_it_was_built_with(tmp_path):
    queries, targets, _ = pairs(300, apart=1.5)
    everything = planted(targets, queries.mean(axis=0), 1)
    rows = [{"title": f"title {row}"} for row in range(301)]
    ids = [f"item {row}" for row in range(301)]
    hubless.build(tmp_path, "things", everything, queries[:200], ids=ids, payload=rows, progress=False)
    collection = hubless.open(tmp_path, "things")
    found = scan(gallery_of(collection), queries[200:])
    first = found.findings[0]
    assert (first.target.id, first.target.payload) == ("item 300", {"title": "title 300"})
    assert first.measured.offset == pytest.approx(float(collection.offsets[300]))
    assert found.correction == "auto, of the collection"
