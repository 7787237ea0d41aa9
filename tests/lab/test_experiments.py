import json

import numpy as np
import pytest
from support import naive
from support.labelled import compare, pairs

import hubless
from hubless.errors import InputError
from hubless.lab.experiments.comparisons import caption, table_of
from hubless.lab.experiments.methods import Method
from hubless.lab.experiments.trials import open_labelled, strict_trial, without_self

GIVEN = pairs(120)
BANK = pairs(150, seed=1)
RIGHT = np.arange(120)
RAW = GIVEN.queries @ GIVEN.targets.T


def compared(*entries, **options):
    given = {"query_bank": BANK.queries} | options
    return compare(GIVEN.queries, GIVEN.targets, RIGHT, [Method("none"), *entries], **given)


class TestDepth:
    def test_hubness_of_each_depth_is_measured_and_shown(self):
        found = compared(depths=[10, 1])
        for depth, name in ((10, "skewness"), (1, "skewness_at_1")):
            expected = naive.skewness(naive.occurrence(RAW, depth))
            assert found.row("none").quality[name] == pytest.approx(expected, abs=1e-5)
        headings = table_of(found).headings
        assert {"skewness N10", "skewness N1", "antihubs N10", "antihubs N1"} <= set(headings)


class TestDraws:
    def test_each_draw_is_a_trial_with_so_many_bank_queries(self):
        found = compared(Method("csls", {"k": 5}), bank_size=40, draws=3)
        recalls = []
        for draw in range(3):
            rows = np.random.default_rng(draw).choice(150, 40, replace=False)
            scores = RAW - 0.5 * naive.top_k_mean(BANK.queries[rows], GIVEN.targets, 5)
            recalls.append(np.mean(naive.ranks(scores, GIVEN.relevant) <= 1))
        row = found.row("csls k=5")
        assert row.quality["recall_at_1"] == pytest.approx(np.mean(recalls))
        assert row.spread["recall_at_1"] == pytest.approx(np.std(recalls, ddof=1))
        assert found.query_bank == 40
        assert caption(found).startswith("Mean ± standard deviation over 3 draws of the bank: 120 queries")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"bank_size": 151}, "bank size: expected at most the 150 queries of the bank, got 151"),
            ({"bank_size": 0}, "bank size: expected a whole number of at least 1"),
            ({"draws": 2}, "draws: expected 1 without a bank size"),
            ({"depths": [0]}, "depth: expected a whole number of at least 1"),
        ],
    )
    def test_what_cannot_be_drawn_is_refused(self, options, message):
        with pytest.raises(InputError, match=message):
            compared(**options)


class TestCandidates:
    def test_rescorer_with_one_candidate_keeps_the_raw_first_target(self):
        few, every = (compared(Method("ls", {"k": 5}), candidates=count) for count in (1, None))
        assert few.row("ls k=5").quality["recall_at_1"] == few.row("none").quality["recall_at_1"]
        assert every.row("ls k=5").quality["recall_at_1"] != few.row("ls k=5").quality["recall_at_1"]


ITEMS = GIVEN.targets
KINDS = RIGHT // 2
OF_A_KIND = [np.flatnonzero(kind == KINDS).tolist() for kind in KINDS]
"""Two of a kind, each query among its own answers."""


class TestLeaveSelfOut:
    def compared(self, **options):
        given = {"metric": "cosine", "leave_self_out": True, "corrections": ["none", "csls"]}
        return hubless.compare(ITEMS, ITEMS, OF_A_KIND, **given | options)

    def test_query_is_no_answer_to_itself(self):
        found = self.compared(query_bank=BANK.queries)
        for label, offsets in (("none", 0), ("csls", 0.5 * naive.top_k_mean(BANK.queries, ITEMS, 10))):
            scores = ITEMS @ ITEMS.T - offsets
            np.fill_diagonal(scores, -np.inf)
            others = [np.setdiff1d(rows, [query]) for query, rows in enumerate(OF_A_KIND)]
            expected = np.mean(naive.ranks(scores, others) <= 1)
            assert found.row(label).quality["recall_at_1"] == pytest.approx(expected)
        assert found.row("none").quality["recall_at_1"] < 1

    def test_bank_of_the_strict_protocol_holds_no_item_of_the_gallery(self):
        given = without_self(open_labelled(ITEMS, ITEMS, OF_A_KIND, metric="cosine").pairs)
        for seed in range(3):
            trial = strict_trial(given, seed)
            gallery = {row.tobytes() for row in trial.targets}
            assert not gallery & {row.tobytes() for row in trial.query_bank}

    def test_other_numbers_of_queries_and_no_other_answers_are_refused(self):
        with pytest.raises(InputError, match="leave self out: expected as many queries as targets"):
            compare(GIVEN.queries[:9], GIVEN.targets, RIGHT[:9], leave_self_out=True)
        with pytest.raises(InputError, match="a relevant target for at least one query"):
            compare(GIVEN.queries, GIVEN.targets, RIGHT, leave_self_out=True)


class TestMeasures:
    def test_geometric_mean_of_recalls_with_its_interval(self):
        row = compared().row("none")
        ranks = naive.ranks(RAW, GIVEN.relevant)
        expected = np.prod([np.mean(ranks <= k) for k in (1, 5, 10)]) ** (1 / 3)
        assert row.quality["geometric_mean_recall"] == pytest.approx(expected)
        interval = row.intervals["geometric_mean_recall"]
        assert interval.low < expected < interval.high


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    arrays = {"queries": GIVEN.queries, "targets": GIVEN.targets, "bank": BANK.queries, "relevant": RIGHT}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    (folder / "groups.txt").write_text("\n".join("even" if row % 2 == 0 else "odd" for row in range(120)))
    (folder / "groups.json").write_text(json.dumps([row % 2 for row in range(120)]))
    np.save(folder / "groups.npy", RIGHT % 2)
    (folder / "short.txt").write_text("one\ntwo")
    (folder / "wrong.json").write_text("{}")
    (folder / "wrong.csv").write_text("one")
    return folder


@pytest.fixture
def evaluate(files, run, monkeypatch):
    monkeypatch.chdir(files)
    given = ["--queries", "queries.npy", "--targets", "targets.npy", "--relevant", "relevant.npy"]
    return lambda *words: run("evaluate", *given, "--query-bank", "bank.npy", *words)


class TestCommand:
    def test_only_the_measures_that_are_asked_for_are_written(self, evaluate, tmp_path):
        words = ["--correction", "csls", "--set", "measures=kurtosis,recall_at_5,most"]
        assert evaluate(*words, "--set", f"output={tmp_path / 'table.md'}")[0] == 0
        assert (tmp_path / "table.md").read_text().splitlines()[0] == "| correction | kurtosis N10 | R@5 | max N10 |"

    @pytest.mark.parametrize(("name", "group"), [("txt", "even (50.0)"), ("json", "0 (50.0)"), ("npy", "0 (50.0)")])
    def test_groups_come_from_a_file(self, evaluate, name, group):
        code, out, _ = evaluate("--correction", "csls", "--set", f"groups=groups.{name}", "--set", "top=3")
        assert code == 0
        assert group in out

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("nowhere.txt", "there is no such file"),
            ("short.txt", "groups: expected 120, one a target, got 2"),
            ("wrong.json", "expected a list, one group a target, got dict"),
            ("wrong.csv", "error: groups (wrong.csv): expected a file ending in .npy, .json or .txt, got .csv"),
        ],
    )
    def test_groups_that_cannot_be_read_are_named(self, evaluate, name, message):
        code, _, err = evaluate("--set", f"groups={name}")
        assert code == 1
        assert message in err
