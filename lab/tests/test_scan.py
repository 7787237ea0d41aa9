import numpy as np
import pytest
from benchmarks import planted_hubs as attacks
from support.hubs import pairs, planted, unit

import hubless
from hubless.diagnosing.gallery import open_gallery
from hubless.errors import BundleDamaged, InputError
from hubless.store.kept_scan import kept_scan
from hubless_lab.scan.scanning import scan
from hubless_lab.scan.sightings import Sightings, surprise

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


def test_planted_hub_has_the_largest_offset_and_counts_as_one_with_its_copies():
    queries, targets, _ = pairs(COUNT, apart=1.5)
    everything = planted(targets, queries.mean(axis=0), 3)
    first = scan(open_gallery(everything), queries).findings[0]
    assert sorted([first.target.row, *first.measured.near_duplicates]) == [COUNT, COUNT + 1, COUNT + 2]
    assert first.measured.counts[1] > 0.8 * len(queries)
    assert first.measured.offset_percentile > 0.99


def test_targets_as_queries_are_refused_with_the_reason_unless_forced():
    _, targets, _ = pairs(200)
    jittered = unit(targets[:50] + 0.001 * np.random.default_rng(0).normal(size=(50, targets.shape[1])))
    for queries in (targets[:50], jittered):
        with pytest.raises(InputError, match="finds itself first"):
            scan(open_gallery(targets), queries)
        with pytest.raises(InputError, match=r"at least .* to tell a hub from chance"):
            scan(open_gallery(targets), queries[:3], force=True)
        assert "50 of the queries are targets" in scan(open_gallery(targets), queries, force=True).notes[0]


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
    assert by_row[0].measured.offset == pytest.approx(there.measured.offset, rel=0.1)


def test_score_of_what_is_first_for_all_is_one_and_of_chance_nothing():
    queries, targets = 20_000, 50
    rows = np.argsort(np.random.default_rng(0).random((queries, targets)), axis=1)[:, :20]
    rows[rows == 0] = rows[:, :1].repeat(20, axis=1)[rows == 0]
    rows[:, 0] = 0
    topics = [np.zeros(queries, np.int64)]
    found = surprise(Sightings.of(rows), targets, queries, targets, topics)
    assert found.score[0] == pytest.approx(1, abs=0.01)
    assert found.score[1:].max() < 0.01


@pytest.fixture
def files(tmp_path):
    queries, targets, _ = pairs(300, apart=1.5)
    everything = planted(targets, queries.mean(axis=0), 1)
    for name, rows in {"queries": queries, "targets": everything, "clean": targets, "new": everything[-1:]}.items():
        np.save(tmp_path / f"{name}.npy", rows)
    return tmp_path


class TestOptimisedHubs:
    """Hubs of the benchmark's optimiser, which knows other queries than those that are scanned with."""

    @pytest.mark.parametrize("kind", ["universal", "topic", "quiet topic", "near, .5"])
    def test_hub_is_on_the_list_and_the_optimiser_beats_what_it_started_from(self, kind):
        queries, targets, _ = pairs(2 * COUNT, apart=1.5)
        known, live, targets = queries[:COUNT], queries[COUNT:], targets[:COUNT]
        rng = np.random.default_rng(0)
        hub = attacks.planted(kind, known, targets, rng)
        assert np.linalg.norm(hub) == pytest.approx(1, abs=1e-5)
        listed = scan(open_gallery(np.vstack([targets, hub])), live, budget=TOP).findings
        assert COUNT in [finding.target.row for finding in listed]


class TestStability:
    def test_target_far_ahead_of_all_is_stable_and_one_among_many_alike_is_not(self):
        """Of 60 targets at about one place each query sees ten, and noise changes which."""
        rng = np.random.default_rng(0)
        queries = unit(rng.normal(size=(100, 64)) + 9 * np.eye(64)[0])
        crowd = unit(rng.normal(size=(60, 64)))
        stable = finding_of(60, np.vstack([crowd, np.eye(64, dtype=np.float32)[0]]), queries)
        assert stable.measured.stability == 1
        unstable = finding_of(0, np.vstack([crowd, np.eye(64, dtype=np.float32)[0]]), queries)
        assert 0.2 < unstable.measured.stability < 0.9
        assert "100 % of these queries keep it with noise on them" in stable.why


def finding_of(row, targets, queries):
    listed = scan(open_gallery(targets), queries, budget=len(targets)).findings
    return next(finding for finding in listed if finding.target.row == row)


def test_text_that_fits_every_image_is_found_everywhere_and_first():
    """Captions are the targets and images the queries: captions lie apart, one text at the centre of all images."""
    captions, images, _ = pairs(300, apart=6, common=1)
    hub = unit(images.mean(axis=0))[np.newaxis]
    first = scan(np.vstack([captions, hub]), images, metric="cosine").findings[0]
    assert (first.target.row, first.kind, first.as_json()["kind"]) == (300, "everywhere", "everywhere")
    assert first.measured.counts[1] > 0.9 * len(images)


def test_exit_code_is_3_only_where_a_score_reaches_the_threshold(run, files):
    asked = ["--queries", files / "queries.npy", "--set", "threshold=0.5", "--json"]
    found = run("scan", "--targets", files / "targets.npy", *asked)
    assert found.code == 3
    answer = found.json
    assert (answer["alerts"], answer["findings"][0]["target"]["row"]) == (1, 300)
    assert run("scan", "--targets", files / "clean.npy", *asked).code == 0
    assert run("scan", "--targets", files / "clean.npy", *asked, "--set", f"admit={files / 'new.npy'}").code == 3
    assert run("scan", "--targets", files / "clean.npy", *asked, "--set", f"admit={files / 'clean.npy'}").code == 0


def test_table_is_sorted_by_score_and_keeps_the_places(run, files):
    asked = ["--targets", files / "targets.npy", "--queries", files / "queries.npy", "--set", "budget=30"]
    shown = run("scan", *asked).out
    rows = [line.split("│") for line in shown.splitlines() if line.startswith("│")]
    found = [(int(cells[1]), float(cells[3])) for cells in rows if cells[1].strip().isdigit()]
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert sorted(place for place, _ in found) == list(range(1, 31))
    listed = run("scan", *asked, "--json").json["findings"]
    assert [finding["place"] for finding in listed] == list(range(1, 31))
    by_place = {finding["place"]: finding["score"] for finding in listed}
    assert list(by_place.values()) != sorted(by_place.values(), reverse=True)


def test_kept_list_is_what_the_command_shows_and_files_cannot_keep_one(run, tmp_path):
    queries, targets, _ = pairs(300, apart=1.5)
    everything = planted(targets, queries.mean(axis=0), 2)
    ids = [f"item {row}" for row in range(302)]
    made = hubless.build(tmp_path, "things", everything, queries[:200], ids=ids)
    np.save(tmp_path / "queries.npy", queries[200:])
    home = hubless.Catalog(tmp_path).home("things")
    assert kept_scan(home) is None
    asked = ["--catalog", tmp_path, "--collection", "things", "--queries", tmp_path / "queries.npy"]
    asked += ["--set", "budget=5"]
    found = run("scan", *asked, "--set", "threshold=0.5", "--set", "keep=true", "--json")
    assert found.code == 3
    listed, kept = found.json, kept_scan(home)
    assert (kept.version, kept.queries, kept.threshold) == (made.version, 100, 0.5)
    assert kept.alerts == listed["alerts"] > 0
    for ours, theirs in zip(kept.findings, listed["findings"], strict=True):
        assert (ours.place, ours.id, ours.score) == (theirs["place"], theirs["target"]["id"], theirs["score"])
        assert (ours.occurrence, ours.copies) == (theirs["counts"]["10"], len(theirs["near_duplicates"]))
    assert hubless.open(tmp_path, "things").version == made.version
    before = (home / "scan.json").read_bytes()
    assert run("scan", *asked).code == 0
    assert (home / "scan.json").read_bytes() == before
    alone = run(
        "scan", "--targets", tmp_path / "queries.npy", "--queries", tmp_path / "queries.npy", "--set", "keep=true"
    )
    assert alone.code == 2
    (home / "scan.json").write_text("{}")
    with pytest.raises(BundleDamaged, match=r"scan\.json"):
        kept_scan(home)
