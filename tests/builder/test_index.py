import re
import threading
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support import small
from support.copies import COPIES
from support.hubs import unit
from support.problems import centred, with_hubs
from support.segments import unnamed

import hubless
from hubless.builder.inputs.build_inputs import Inputs
from hubless.builder.recipe import Recipe
from hubless.cli.options import parameters_of
from hubless.corrections import CORRECTIONS, corrected_scores
from hubless.corrections.roles import TARGET_ROLES
from hubless.errors import DuplicateIds, InputError
from hubless.knn import INDEXES

PROBLEM = with_hubs(targets=120, bank=90, target_bank=60, queries=8, dim=12, seed=3)
FITTED = 60
"""The other targets can be added."""
PARAMETERS = {"nnn": {"k": 16}, "dual_dis": {"query_temperature": 0.1}}
IDS = [f"t{row}" for row in range(120)]
PAYLOAD = [{"n": row, "even": row % 2 == 0} for row in range(120)]


TARGETS, QUERIES = unit(PROBLEM.targets), unit(PROBLEM.queries)


def fitted(correction="csls", **options):
    index = hubless.Index(correction, "cosine", parameters=PARAMETERS.get(correction), **options)
    bank = {"target_bank": PROBLEM.target_bank} if correction in ("dbsn", "dual_is", "dual_dis") else {}
    return index.fit(PROBLEM.bank, PROBLEM.targets[:FITTED], ids=IDS[:FITTED], payload=PAYLOAD[:FITTED], **bank)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved")
    for name in CORRECTIONS:
        fitted(name).save(path, name)
    return path


def expected(index, rows, strength):
    """Scores (m, n) of the targets of some rows of the problem, from the correction alone."""
    targets, correction = TARGETS[rows], index.correction()
    offsets, query_time = correction.offsets(targets), correction.query_time(targets)
    return corrected_scores(QUERIES, QUERIES @ targets.T, strength, offsets, query_time, targets.__getitem__)


def assert_ranked_by(found, scores, ids):
    """The hits are the best of these scores, ties in any order."""
    k = found.rows.shape[1]
    np.testing.assert_allclose(found.scores, -np.sort(-scores, axis=1)[:, :k], rtol=1e-4, atol=1e-5)
    for line, (row_ids, row_scores) in enumerate(zip(found.ids, found.scores, strict=True)):
        assert len(set(row_ids)) == k
        of_id = dict(zip(ids, scores[line], strict=True))
        np.testing.assert_allclose([of_id[each] for each in row_ids], row_scores, rtol=1e-4, atol=1e-5)


STEPS = st.lists(
    st.tuples(st.just("add"), st.integers(FITTED, 119), st.integers(1, 20))
    | st.tuples(st.just("remove"), st.integers(0, 200), st.integers(1, 25)),
    max_size=6,
)


def changed(index, steps):
    """Take the steps; the rows of the problem that are in the index then, in its order."""
    rows = list(range(FITTED))
    for what, start, count in steps:
        if what == "add":
            some = [row for row in range(start, min(start + count, 120)) if row not in rows]
            if some:
                index.add(PROBLEM.targets[some], ids=[IDS[row] for row in some], payload=[PAYLOAD[row] for row in some])
            rows += some
        elif rows:
            some = [rows[(start + place) % len(rows)] for place in range(min(count, len(rows)))]
            index.remove([IDS[row] for row in some])
            rows = [row for row in rows if row not in some]
    return rows


@pytest.mark.parametrize("name", CORRECTIONS)
class TestChanged:
    """Whatever was added and removed, hits are those of an index of these rows with the same fitted correction."""

    @settings(max_examples=10, deadline=None)
    @given(steps=STEPS, strength=st.sampled_from([0.0, 0.5, 1.0, 2.0]), limit=st.integers(1, 130))
    def test_hits_are_the_best_of_the_rows_that_there_are(self, saved, name, steps, strength, limit):
        index = hubless.open(saved, name)
        rows = changed(index, steps)
        assert index.count == len(rows) == index.manifest.count
        found = index.query(QUERIES, limit, strength)
        assert found.rows.shape == (8, min(limit, len(rows)))
        if not rows:
            return
        ids = [IDS[row] for row in rows]
        assert_ranked_by(found, expected(index, rows, strength), ids)
        assert index.ids(np.arange(len(rows))) == ids
        assert [index.row(each) for each in ids] == list(range(len(rows)))
        np.testing.assert_allclose(index.vectors(np.arange(len(rows))), TARGETS[rows], atol=1e-6)
        np.testing.assert_allclose(index.offsets, index.correction().offsets(TARGETS[rows]), atol=1e-5)
        assert index.payload(np.arange(len(rows))) == [PAYLOAD[row] for row in rows]


@pytest.fixture(scope="module")
def index():
    return fitted()


@pytest.fixture
def own():
    return fitted()


class TestFit:
    @pytest.mark.parametrize("kind", INDEXES)
    def test_every_kind_of_index_can_be_changed_and_saved(self, kind, tmp_path):
        index = fitted(index=kind)
        index.add(PROBLEM.targets[FITTED:], ids=IDS[FITTED:])
        index.remove(IDS[:10])
        everything = {"exact": True}
        before = index.query(QUERIES, parameters=everything)
        best = expected(index, list(range(10, 120)), 1.0)
        np.testing.assert_allclose(before.scores, -np.sort(-best, axis=1)[:, :10], atol=1e-2)
        index.save(tmp_path, "c")
        opened = hubless.open(tmp_path, "c")
        opened.check_canaries()
        np.testing.assert_allclose(opened.query(QUERIES, parameters=everything).scores, before.scores, atol=1e-3)

    def test_index_that_was_not_fitted_says_so(self):
        index = hubless.Index(metric="dot")
        assert repr(index) == "<Index, not fitted: dot, auto>"
        for ask in (lambda: index.query([1.0]), lambda: index.count, lambda: index.save("x", "y")):
            with pytest.raises(InputError, match=r"^index: expected one that is fitted and open, got one that was"):
                ask()


@pytest.mark.parametrize(
    ("queries", "k", "said"),
    [
        (256, 128, []),
        (160, 128, ["Measured without the held-out queries: k is 80 instead of 128, as there are 80 bank queries."]),
        (60, 60, ["k is 60 instead of 128, as there are 60 bank queries."]),
    ],
)
def test_nnn_takes_all_of_a_bank_that_is_smaller_than_its_published_k_and_says_so(tmp_path, caplog, queries, k, said):
    given = with_hubs(bank=queries)
    manifest = hubless.build(tmp_path, "c", given.targets, given.bank, correction="nnn", metric="cosine")
    assert manifest.correction.details["k"] == k
    assert [note for note in manifest.notes if "k is" in note] == said
    assert all(note in caplog.text for note in said)
    offsets = hubless.open(tmp_path, "c").offsets
    alone = CORRECTIONS["nnn"](k=k).fit(*(unit(rows) for rows in (given.bank, given.targets)))
    np.testing.assert_allclose(offsets, centred(alone.offsets(unit(given.targets))), atol=1e-6)


class TestAdd:
    def test_numbers_go_on_where_no_ids_are_given(self):
        index = hubless.Index("none", "cosine").fit(PROBLEM.bank, PROBLEM.targets[:5], ids=[3, 9, 4, 1, 2])
        index.add(PROBLEM.targets[5:7])
        assert index.ids(np.arange(7)) == [3, 9, 4, 1, 2, 10, 11]

    def test_what_is_not_given_of_payload_is_null(self, own):
        own.add(PROBLEM.targets[60:63], ids=IDS[60:63], payload=[{"n": 60}, {}, {"even": True}])
        own.add(PROBLEM.targets[63:64], ids=IDS[63:64])
        nothing = {"n": None, "even": None}
        assert own.payload(np.arange(60, 64)) == [nothing | {"n": 60}, nothing, nothing | {"even": True}, nothing]
        assert own.query(QUERIES, filter={"field": "n", "eq": 60}).ids == [["t60"]] * 8
        own.add(PROBLEM.targets[64:65], payload=[{"id": "t64", "n": 64}])
        assert own.payload([own.row("t64")]) == [nothing | {"n": 64}]

    def test_what_does_not_fit_is_refused_and_nothing_changes(self, index):
        before = index.query(QUERIES).ids
        with pytest.raises(DuplicateIds, match="ids that no target has, got 't0'"):
            index.add(PROBLEM.targets[60:62], ids=["x", "t0"])
        assert index.count == FITTED
        assert index.query(QUERIES).ids == before

    def test_index_without_targets_answers_with_no_hits_and_is_not_saved(self, own, tmp_path):
        own.remove(IDS[:FITTED])
        assert own.query(QUERIES).rows.shape == (8, 0)
        with pytest.raises(InputError, match=r"^index: expected at least one target, got none"):
            own.save(tmp_path, "c")

    def test_matches_from_before_a_change_are_refused(self, own):
        matches = own.matches({"field": "even", "eq": True})
        own.remove(["t0"])
        with pytest.raises(InputError, match=r"^ids: expected a list of ids"):
            own.remove("t1")
        with pytest.raises(InputError, match=r"^filter: expected matches among the 59 targets, got among 60"):
            own.query(QUERIES, filter=matches)


class TestSave:
    def test_version_has_the_files_of_a_build(self, own, tmp_path):
        options = {"ids": IDS[:FITTED], "payload": PAYLOAD[:FITTED], "correction": "csls"}
        built = hubless.build(tmp_path, "built", PROBLEM.targets[:FITTED], PROBLEM.bank, **options)
        saved = own.save(tmp_path, "saved")
        assert unnamed(saved) == unnamed(built)
        same = {"collection", "version", "created", "files", "index", "segments", "fit", "built"}
        assert saved.model_dump(exclude=same) == built.model_dump(exclude=same)
        assert own.manifest == saved
        assert own.name == "saved"

    @pytest.mark.parametrize("change", [False, True])
    def test_opened_version_can_be_saved_elsewhere(self, saved, tmp_path, change):
        opened = hubless.open(saved, "auto")
        if change:
            opened.add(PROBLEM.targets[FITTED:], ids=IDS[FITTED:], payload=PAYLOAD[FITTED:])
            opened.remove(["t1"])
        before = opened.query(QUERIES)
        manifest = opened.save(tmp_path, "other")
        assert manifest.count == (119 if change else FITTED)
        assert manifest.frozen == (60 if change else 0)
        again = hubless.open(tmp_path, "other")
        again.check_canaries()
        assert again.query(QUERIES).ids == before.ids == opened.query(QUERIES).ids
        assert again.correction().constant == hubless.open(saved, "auto").correction().constant


class TestObject:
    def test_reprs_take_a_line(self, index, saved):
        opened = hubless.open(saved, "dual_is")
        shown = [index, opened, opened.manifest, index.query(QUERIES), index.correction(), opened.correction()]
        assert max(len(repr(each)) for each in shown) < 200
        assert all("\n" not in repr(each) for each in shown)
        assert repr(index) == "<Index 'index' unsaved: 60 targets of 12 dimensions, cosine, csls, flat>"
        assert repr(index.query(QUERIES)) == "<Results of 8 queries, 10 hits each>"

    def test_with_closes_it(self, saved):
        with hubless.open(saved, "csls") as opened:
            assert opened.count == FITTED
        with pytest.raises(InputError, match=r"^index: expected one that is fitted and open"):
            opened.query(QUERIES)
        opened.close()

    def test_queries_during_changes_see_the_old_or_the_new(self, own):
        answers, done = [], threading.Event()

        def ask():
            while not done.is_set():
                answers.append(own.query(QUERIES, limit=200))

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            for start in range(FITTED, 120, 10):
                own.add(PROBLEM.targets[start : start + 10], ids=IDS[start : start + 10])
                own.remove(IDS[start - FITTED : start - FITTED + 5])
        finally:
            done.set()
            asking.join()
        counts = {found.rows.shape[1] for found in answers}
        assert counts <= {60 + 5 * step + more for step in range(7) for more in (0, 10)}
        assert all(len(set(line)) == len(line) for found in answers for line in found.ids)


@pytest.mark.parametrize(
    ("function", "kind", "without"),
    [
        (hubless.build, Recipe, set()),
        (hubless.build, Inputs, set()),
        (hubless.Index, Recipe, {"engine", "executor", "shard_targets", "offsets"}),
        (hubless.Index.fit, Inputs, set()),
    ],
)
def test_every_setting_is_a_keyword_of_its_name_and_described(function, kind, without):
    """A setting is taken from the keyword of its name: under another one it would keep its default without a word."""
    settings = {each.name for each in fields(kind)} - without
    if kind is Inputs:
        settings = settings - {"roles"} | TARGET_ROLES.keys()
    assert settings <= parameters_of(function).keys()
    described = (function.__init__ if isinstance(function, type) else function).__doc__
    for name in settings:
        assert re.search(rf"(?m)^(\w+, )*{name}(, \w+)* : ", described), name


@pytest.mark.parametrize(
    ("name", "said"),
    [("recal", "'recal'. Did you mean 'recall'?"), ("settings", "'settings'"), ("group_by", "'group_by'")],
)
def test_unknown_keyword_is_refused_before_any_work_with_the_nearest_one(tmp_path, name, said):
    with pytest.raises(TypeError, match=re.escape(f"build() got an unexpected keyword argument {said}")):
        hubless.build(tmp_path / "catalog", "songs", small.vectors(50, 2), **{name: None})
    assert not (tmp_path / "catalog").exists()


@pytest.mark.parametrize("copied", COPIES)
def test_results_can_be_copied_and_pickled_and_an_index_says_how_to_open_it_elsewhere(copied, tmp_path):
    index = hubless.Index(metric="cosine").fit(small.vectors(50, 1), small.vectors(9, 2))
    with pytest.raises(TypeError, match=r"Index cannot be copied or pickled: save it with index.save\('catalog', "):
        copied(index)
    index.save(tmp_path, "songs")
    with pytest.raises(TypeError, match=rf"use hubless.open\('{tmp_path}', 'songs'\)"):
        copied(index)
    found = index.query(small.vectors(3, 3))
    assert [hit.id for hit in copied(found)[0]] == [hit.id for hit in found[0]]
