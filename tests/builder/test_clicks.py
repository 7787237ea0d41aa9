import json
import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import commands, jobs, small
from support.hubs import pairs, unit
from support.printed import write_sample

import hubless
from hubless.builder.inputs.clicks import Clicks
from hubless.builder.pipeline.click_choice import POWERS
from hubless.builder.pipeline.refitting import prior_of_offsets
from hubless.corrections.alone import StandingAlone
from hubless.corrections.banks.click_prior import click_prior
from hubless.corrections.centred import CentredCorrection
from hubless.errors import InputError
from hubless.store.kept_clicks import Click, ClickWriter, read_clicks

DIM, TARGETS = 16, 60
run = commands.run


def made(seed, asked, wanted, noise=0.9):
    """Queries (m, d), each near a target that is drawn as often as it is wanted, and these targets."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(TARGETS, asked, p=wanted / wanted.sum())
    return unit(VECTORS[rows] + noise * rng.normal(size=(asked, DIM)) / 2).astype(np.float32), rows


VECTORS = unit(np.random.default_rng(0).normal(size=(TARGETS, DIM))).astype(np.float32)
POPULAR = 1 / np.arange(1, TARGETS + 1) ** 1.2
IDS = [f"t{row}" for row in range(TARGETS)]
BANK, CLICKED = made(1, 500, POPULAR)
TESTS, RIGHT = made(2, 2000, POPULAR)
PAIRS = pa.table({"query": np.arange(500), "target": [IDS[row] for row in CLICKED]})
VECTOR_PAIRS = PAIRS.set_column(0, "query", pa.FixedSizeListArray.from_arrays(pa.array(BANK.ravel()), DIM))


def fit(clicks, bank=BANK, **more):
    return hubless.Index(metric="cosine").fit(bank, VECTORS, ids=IDS, clicks=clicks, **more)


def first_right(index, strength=None):
    h = (index.strength if strength is None else strength) * index.offsets
    return np.mean((TESTS @ VECTORS.T - h).argmax(axis=1) == RIGHT)


@pytest.fixture(scope="module")
def chosen():
    return fit(PAIRS)


def test_prior_of_clicks_is_the_mean_demand_of_gamma_and_poisson():
    counts = np.array([0.0, 0, 2, 10])  # mean 3, variance 17, so D = 14/9
    whole, half = click_prior(counts), click_prior(counts, 0.5)
    np.testing.assert_allclose(whole.values, counts + 9 / 14)
    np.testing.assert_allclose(half.values, np.sqrt(whole.values))
    rows = Clicks(np.arange(3), np.array([2, 3, 3]), np.array([2.0, 9, 3]), np.array([False, False, True]))
    np.testing.assert_allclose(rows.columns(4, 1.0).number.values, whole.values)  # of first hits a third counts
    assert whole[np.array([3])].median == whole.median
    assert (whole.median, half.median) == pytest.approx((9 / 14, np.sqrt(9 / 14)))


@pytest.mark.parametrize("counts", [[3.0] * 5, [0.0] * 5, [4.0, 6, 3, 7], [1.0, 3, 5, 7, 9]])
def test_clicks_that_differ_by_chance_alone_make_no_prior(counts):
    assert click_prior(np.array(counts)) is None


def test_popular_targets_are_chosen_by_held_out_clicks_and_others_find_them(chosen):
    record = chosen.manifest.clicks
    assert record.chosen in POWERS
    assert (record.clicks, record.queries) == (500, 500)
    assert record.gain == pytest.approx(record.found[record.chosen] - record.found["raw"])
    assert record.gain > record.error > 0
    gained = first_right(chosen) - first_right(chosen, 0)
    assert gained > 0.05
    assert gained == pytest.approx(record.gain, abs=3 * record.error)  # what is printed is what comes
    prior = click_prior(np.bincount(CLICKED, minlength=TARGETS).astype(float), POWERS[record.chosen])
    given = hubless.Index(metric="cosine").fit(BANK, VECTORS, target_prior=prior.values)
    np.testing.assert_allclose(chosen.offsets, given.offsets, atol=1e-6)


FORMS = {
    "a list for each query": [[each] for each in PAIRS["target"].to_pylist()],
    "rows as dicts": PAIRS.to_pylist(),
    "vectors": VECTOR_PAIRS,
    "counts": PAIRS.append_column("count", pa.array([1] * 500)),
    "positions of no first hit": PAIRS.append_column("position", pa.array([None, 2] * 250)),
    "one that names what is gone": pa.concat_tables([PAIRS, pa.table({"query": [7], "target": ["gone"]})]),
    "clients that nobody names": PAIRS.append_column("client", pa.array([None] * 500, "string")),
    "a client each": PAIRS.append_column("client", pa.array([f"c{row}" for row in range(500)])),
}


def test_counts_weigh_what_is_found_and_repeated_clicks_of_a_query_are_no_surer(chosen):
    counts = np.random.default_rng(0).integers(1, 30, 500)
    record = fit(PAIRS.append_column("count", pa.array(counts))).manifest.clicks
    assert record.clicks == counts.sum()
    assert record.found["raw"] == np.average((BANK @ VECTORS.T).argmax(axis=1) == CLICKED, weights=counts)
    often = fit(pa.concat_tables([PAIRS] * 9)).manifest.clicks
    assert often.error == pytest.approx(chosen.manifest.clicks.error, rel=0.2)


@pytest.mark.parametrize("clicks", FORMS.values(), ids=FORMS)
def test_forms_of_the_same_clicks_choose_the_same(chosen, clicks):
    index = fit(clicks)
    assert index.manifest.clicks == chosen.manifest.clicks
    np.testing.assert_array_equal(index.offsets, chosen.offsets)


def test_clicks_on_rows_that_are_left_out_are_left_out(chosen):
    bad = np.full((1, DIM), np.nan, np.float32)
    moved = pa.table({"query": np.arange(501), "target": ["bad", *PAIRS["target"].to_pylist()]})
    index = hubless.Index(metric="cosine")
    index.fit(np.vstack([bad, BANK]), np.vstack([bad, VECTORS]), ids=["bad", *IDS], clicks=moved, skip_bad_rows=True)
    assert index.manifest.clicks == chosen.manifest.clicks
    np.testing.assert_array_equal(index.offsets, chosen.offsets)


def test_sample_of_live_queries_takes_clicks_whose_queries_are_vectors(tmp_path):
    write_sample(tmp_path, BANK, [f"c{row % 40}" for row in range(500)], "c", 1_800_000_000)
    index = fit(VECTOR_PAIRS, tmp_path / "c")
    assert (index.manifest.clicks.clicks, index.manifest.strength_choice) == (500, None)
    with pytest.raises(InputError, match="column query: expected vectors, as the query bank has no rows"):
        fit(PAIRS, tmp_path / "c")


def test_file_of_pairs_and_column_of_the_bank_choose_the_same_in_builds(tmp_path, chosen, run):
    (tmp_path / "c.csv").write_text("query,target\n" + "\n".join(f"{row},t{t}" for row, t in enumerate(CLICKED)))
    np.save(tmp_path / "t.npy", VECTORS)
    bank = pa.table({"vector": VECTOR_PAIRS["query"], "clicked": PAIRS["target"]})
    pq.write_table(bank, tmp_path / "q.parquet")
    pq.write_table(pa.table({"id": IDS}), tmp_path / "ids.parquet")
    for clicks in (tmp_path / "c.csv", "clicked"):
        given = {"targets": "t.npy", "query-bank": "q.parquet", "ids": "ids.parquet"}
        files = [part for name, file in given.items() for part in (f"--{name}", tmp_path / file)]
        ended = run("build", "--catalog", tmp_path, "--collection", "c", *files, "--set", f"clicks={clicks}")
        assert f"500 of 500 queries chose {chosen.manifest.clicks.chosen}" in " ".join(ended.out.split())
        built = hubless.open(tmp_path, "c")
        assert built.manifest.clicks == chosen.manifest.clicks
        assert ("clicks" in built.manifest.provenance.inputs) == (clicks != "clicked")


def test_job_chooses_by_clicks_and_again_once_they_change(tmp_path):
    bank = small.query_bank()
    jobs.write(tmp_path, correction={"name": "auto"}, clicks="c.jsonl", query_bank="bank.parquet")
    pq.write_table(
        pa.table({"id": [f"q{row}" for row in range(len(bank))], "vector": list(bank)}), tmp_path / "bank.parquet"
    )
    for count in (40, 30):
        rows = [json.dumps({"query": f"q{row}", "target": f"item-{row % 7}"}) for row in range(count)]
        (tmp_path / "c.jsonl").write_text("\n".join(rows))
        assert jobs.run(tmp_path).manifest.clicks.clicks == count
    assert not jobs.run(tmp_path).published
    jobs.rewrite(tmp_path, correction={"name": "auto"}, query_bank="bank.parquet")
    assert jobs.run(tmp_path).manifest.clicks is None  # as its file says no more


@pytest.mark.parametrize("by", ["a build", "a job"])
def test_clicks_of_a_service_that_goes_on_are_taken_from_its_folder(tmp_path, monkeypatch, by):
    jobs.write(tmp_path, correction={"name": "auto"}, clicks="queries/photos")
    bank, home = small.query_bank()[:60], tmp_path / "queries"

    def serve(label):
        write_sample(home, bank + 0.1 * len(label), [label], "photos", 1_800_000_000)
        kept = [Click(each, f"item-{row % 7}", None, f"{label} {row}") for row, each in enumerate(bank)]
        ClickWriter(home).add("photos", "cosine", "string", kept, "shop", 1_800_000_000)

    def read(folder):
        found = read_clicks(folder)
        serve("later")
        return found

    def run():
        if by == "a job":
            return jobs.run(tmp_path).manifest
        files = (tmp_path / "items", small.query_bank())
        return hubless.build(tmp_path / "catalog", "photos", *files, clicks=home / "photos")

    serve("first")
    with monkeypatch.context() as patched:
        patched.setattr("hubless.builder.inputs.clicks.read_clicks", read)
        assert run().clicks.clicks == 60
    assert run().clicks.clicks == 120


def test_candidates_are_fitted_by_the_counts_of_the_bank(chosen):
    similar = BANK @ VECTORS.T
    corrected = similar - fit(None).offsets
    falls = corrected.max(axis=1) - corrected[np.arange(500), similar.argmax(axis=1)]
    times = np.where(falls == falls.max(), 300, 1)
    banks = (pa.table({"vector": list(BANK), "count": times}), BANK[np.repeat(np.arange(500), times)])
    counted, repeated = (fit(VECTOR_PAIRS, bank).manifest.clicks for bank in banks)
    assert counted == repeated
    assert counted.found["no prior"] > chosen.manifest.clicks.found["no prior"]  # whose first answers do not stay


def test_clicks_that_no_correction_finds_better_serve_raw_and_say_so(caplog):
    even, rows = made(3, 300, np.ones(TARGETS), noise=0.2)
    with caplog.at_level(logging.WARNING):
        index = fit([[IDS[row]] for row in rows], even)
    assert (index.strength, index.manifest.clicks.chosen) == (0, "raw")
    assert "held-out clicks say that no correction is better: served raw" in caplog.text.lower()
    assert any("served raw" in note for note in index.manifest.notes)
    assert index.manifest.target_prior is None


def test_gain_below_its_error_is_chance():
    asked, rows = made(16, 60, POPULAR)
    record = fit([[IDS[row]] for row in rows] + [[]] * 500, np.concatenate([asked, BANK])).manifest.clicks
    assert record.found["power 1"] > record.found["raw"]
    assert (record.chosen, record.gain) == ("raw", 0)


def test_clicks_on_first_hits_alone_speak_for_no_change():
    assert fit(PAIRS.append_column("position", pa.array([1] * 500))).manifest.clicks.chosen == "raw"


def test_queries_that_check_a_choice_and_their_copies_taught_nothing_of_it():
    """Each query has a target of its own: of others its clicks say nothing, and its copies would say all."""
    asked, targets, _ = pairs(300, apart=1.5)
    times = np.random.default_rng(5).permutation(200 / np.arange(1, 301)).astype(int) + 1
    copies = np.repeat(np.arange(300), times)
    index = hubless.Index(metric="cosine").fit(asked[copies], targets, clicks=[[row] for row in copies.tolist()])
    record = index.manifest.clicks
    assert (record.queries, record.chosen) == (300, "no prior")
    assert record.found["no prior"] > max(record.found[name] for name in POWERS)


def test_one_client_moves_no_target():
    clients = [f"c{row}" for row in range(500)]
    plain = PAIRS.append_column("client", pa.array(clients))
    often = pa.table({"query": np.arange(400), "target": ["t59"] * 400, "client": ["c9999"] * 400})
    gone = pa.table({"query": [0], "target": ["gone"], "client": ["c0"]})
    flooded = fit(pa.concat_tables([gone, plain, often]).append_column("count", pa.array([1] * 501 + [9] * 400)))
    once = fit(pa.concat_tables([plain, often.slice(0, 1)]))
    np.testing.assert_array_equal(flooded.offsets, once.offsets)


@pytest.mark.parametrize("grown", [1, 0])  # a segment more; or an index that is trained anew
def test_what_clicks_chose_stays_with_targets_whose_rows_a_job_changes(tmp_path, grown):
    np.save(tmp_path / "bank.npy", BANK)
    pq.write_table(PAIRS, tmp_path / "c.parquet")
    often = {"index": {"type": "flat", "grown": grown}, "refit": {"frozen": 1}}
    jobs.rewrite(tmp_path, correction={"name": "auto"}, clicks="c.parquet", **often)
    (tmp_path / "items").mkdir()
    found = []
    for title in ("first", "changed"):
        rows = {"id": IDS, "vector": list(VECTORS), "title": [title] * 3 + [""] * (TARGETS - 3)}
        pq.write_table(pa.table(rows), tmp_path / "items" / "a.parquet")
        assert jobs.run(tmp_path).published
        opened = hubless.open(tmp_path / "catalog", jobs.NAME)
        found.append(dict(zip(opened.ids(np.arange(TARGETS)), opened.offsets.tolist(), strict=True)))
    assert opened.manifest.job.offsets == "kept"
    assert found[1] == pytest.approx(found[0], abs=1e-6)


@pytest.mark.parametrize("given", [(BANK, PAIRS), (None, VECTOR_PAIRS)], ids=["rows of the bank", "vectors"])
def test_new_clicks_choose_anew_over_a_refit(tmp_path, chosen, given):
    bank, clicks = given
    hubless.build(tmp_path, "c", VECTORS, BANK, ids=IDS, target_prior=POPULAR[::-1].copy(), index="flat")
    manifest = hubless.refit(tmp_path, "c", bank, clicks=clicks)
    found = hubless.open(tmp_path, "c")
    assert manifest.collection == "c"
    assert (manifest.clicks, manifest.target_prior) == (chosen.manifest.clicks, chosen.manifest.target_prior)
    np.testing.assert_allclose(found.offsets, chosen.offsets, atol=1e-5)


def test_prior_of_a_target_whose_offset_was_held_back_is_that_of_later_ones(chosen):
    fitted = chosen.correction()
    held = CentredCorrection(fitted.fitted, fitted.constant, StandingAlone(0.5, 0.4))
    offsets = chosen.offsets.copy()
    offsets[3] = 0.4 - fitted.constant
    known = click_prior(np.bincount(CLICKED, minlength=TARGETS).astype(float), POWERS[chosen.manifest.clicks.chosen])
    expected = np.where(np.arange(TARGETS) == 3, known.usual, known.values)
    np.testing.assert_allclose(prior_of_offsets(held, VECTORS, offsets, known.usual), expected, rtol=1e-4)
