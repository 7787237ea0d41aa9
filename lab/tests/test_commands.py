import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.labelled import compare, pairs, saved

import hubless
from hubless.builder.written_corrections import read_correction

GIVEN = pairs(120)
BANK = pairs(150, seed=1)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    paths = saved(folder, GIVEN, bank=BANK.queries, more=BANK.targets)
    kinds = [{"kind": "even" if row % 2 == 0 else "odd", "share": 0.5, "same": "one"} for row in range(120)]
    pq.write_table(pa.Table.from_pylist(kinds), folder / "payload.parquet")
    return paths | {"payload": str(folder / "payload.parquet")}


@pytest.fixture(scope="module")
def catalog(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("catalog")
    hubless.build(folder, "things", files["targets"], files["bank"], payload=files["payload"])
    return str(folder)


def labelled(files):
    return ["--queries", files["queries"], "--relevant", files["relevant"], "--targets", files["targets"]]


class TestEvaluate:
    def test_strict_compares_corrections_without_any_bank(self, run, files):
        asked = ["--strict", "--set", "seeds=2", "--correction", "csls", "--json"]
        rows = run("evaluate", *labelled(files), *asked).json["rows"]
        expected = compare(files["queries"], files["targets"], files["relevant"], seeds=2)
        assert {row["label"]: row["quality"] for row in rows} == {
            label: expected.row(label).quality for label in ("none", "csls")
        }

    def test_outputs_are_written_beside_the_table(self, run, files, tmp_path):
        outputs = [tmp_path / f"table{ending}" for ending in (".md", ".tex", ".csv", ".json")]
        words = ["--set", "output=" + ",".join(map(str, outputs))]
        code, out, _ = run("evaluate", *labelled(files), "--strict", "--set", "seeds=1", "--correction", "csls", *words)
        assert code == 0
        assert "csls" in out
        for path in outputs:
            assert "csls" in path.read_text("utf-8")

    def test_collection_is_measured_raw_and_corrected(self, run, files, catalog):
        given = ["--queries", files["queries"], "--relevant", files["relevant"]]
        found = run("evaluate", "--catalog", catalog, "--collection", "things", *given, "--json").json
        assert (found["queries"], found["targets"], found["left_out"]) == (120, 120, [])
        raw, corrected = (row["quality"]["recall_at_1"] for row in found["rows"])
        assert raw == pytest.approx(np.mean((GIVEN.queries @ GIVEN.targets.T).argmax(1) == np.arange(120)))
        assert found["rows"][1]["change"]["value"] == pytest.approx(corrected - raw)

    @pytest.mark.parametrize("form", ["pairs", "collection"])
    def test_shares_of_an_attribute_are_shown(self, run, files, catalog, form):
        given = ["--queries", files["queries"], "--relevant", files["relevant"]]
        given += ["--set", "attribute=kind", "--set", "top=3"]
        if form == "pairs":
            given += ["--targets", files["targets"], "--query-bank", files["bank"]]
            given += ["--set", f"groups={files['payload']}"]
        else:
            given += ["--catalog", catalog, "--collection", "things"]
        code, out, _ = run("evaluate", *given)
        assert code == 0
        assert "even (50.0)" in out
        assert "odd (50.0)" in out

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ([], "--strict"),
            (["--strict", "--query-bank", "BANK"], "--strict"),
            (["--strict", "--collection", "things"], "--targets"),
            (["--strict", "--catalog", "c"], "--catalog"),
            (["--strict", "--correction", "foo"], "foo"),
            (["--strict", "--set", "seeds"], "NAME=VALUE"),
            (["--strict", "--set", "seed=3"], "there is no seed, did you mean seeds? Known: abstain, attribute,"),
            (["--strict", "--correction", "nnn:n=3"], "expected one of k, weight, bank_index, got n"),
            (["--strict", "--set", "output=table.doc"], ".json, .csv, .md, .tex"),
            (["--strict", "--set", "attribute=kind"], "attribute needs groups"),
            (["--strict", "--set", "seeds=many"], "seeds: expected a whole number, got many"),
            (["--set", "demand=1", "--set", "demand.hubs=0.5"], "demand takes one value, demand=VALUE"),
            (["--strict", "--set", "leave_self_out=perhaps"], "leave_self_out: expected true or false"),
            (["--set", "abstain=true"], "either --strict or a query bank"),
            (["--strict", "--set", "abstain=true", "--correction", "none", "--correction", "auto"], "give one with"),
            (["--strict", "--set", "abstain=true", "--set", "output=a.doc"], ".json, .csv, .md"),
        ],
    )
    def test_wrong_usage_exits_with_2_and_says_what(self, run, files, words, message):
        given = [word.replace("BANK", files["bank"]) for word in words]
        code, _, err = run("evaluate", *labelled(files), *given)
        assert code == 2
        assert message in " ".join(err.replace("│", " ").split())


@pytest.mark.parametrize("command", ["evaluate", "tune", "report"])
@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("nowhere/it", "no such file or folder"),
        ("file/it", "a part of the path is a file"),
        ("it", "a folder is in the"),
    ],
)
def test_output_that_cannot_be_written_is_refused_before_the_work(
    run, files, tmp_path, monkeypatch, command, place, reason
):
    path = tmp_path / f"{place}.{'html' if command == 'report' else 'json'}"
    (tmp_path / "file").touch()
    (tmp_path / "it.json").mkdir()
    (tmp_path / "it.html").mkdir()
    before = sorted(tmp_path.iterdir())
    if command == "report":
        given = ["--targets", files["targets"], "--query-bank", files["bank"]]
        monkeypatch.setattr("hubless_lab.cli.hubs.make_report", lambda *_, **__: pytest.fail("the work was done"))
    else:
        given = labelled(files)
        monkeypatch.setattr(f"hubless_lab.cli.evaluate.{command}", lambda *_, **__: pytest.fail("the work was done"))
    where = ["--set", f"output={path}"] if command == "evaluate" else ["--output", path]
    code, _, err = run(command, *given, *where)
    assert code == 1
    assert f"{path}: {reason}" in " ".join(err.split())
    assert sorted(tmp_path.iterdir()) == before


class TestTune:
    def test_parameter_file_is_what_build_takes(self, run, files, tmp_path):
        path = tmp_path / "tuned.json"
        few = ["--set", "corrections=csls", "--set", "seeds=2", "--output", path]
        code, out, _ = run("tune", *labelled(files), *few)
        assert code == 0
        name, parameters = read_correction(path)
        assert name == "csls"
        assert f"Chosen: csls k={parameters['k']}" in out
        assert "queries held out from the choice" in " ".join(out.split())
        given = ["--catalog", tmp_path / "catalog", "--collection", "things", "--query-bank", files["bank"]]
        built = run("build", *given, "--targets", files["targets"], "--correction", path, "--json").json
        assert (built["correction"]["name"], built["correction"]["parameters"]) == ("csls", parameters)

    def test_own_grid_is_tried(self, run, files):
        grid = ["--grid", "nnn.k=1,4", "--grid", "nnn.weight=.5", "--set", "seeds=1", "--json"]
        tried = run("tune", *labelled(files), *grid).json["tuned"]["candidates"]
        labels = [each["label"] for each in tried]
        assert labels == ["none", "nnn k=1 weight=0.5", "nnn k=4 weight=0.5"]

    @pytest.mark.parametrize("grid", ["nnn.k", "csls", "k=3", "nnn.=3"])
    def test_grid_of_another_form_is_wrong_usage(self, run, files, grid):
        code, _, err = run("tune", *labelled(files), "--grid", grid)
        assert code == 2
        assert "expected NAME.KEY=VALUE,VALUE" in err


def test_confidence_is_measured_and_a_threshold_found(run, tmp_path):
    paths = saved(tmp_path, pairs(300, noise=0.9))
    given = [word for name in ("queries", "targets", "relevant") for word in (f"--{name}", paths[name])]
    picture = tmp_path / "a.svg"
    one, asked = ["--set", "seeds=1"], ["--set", "abstain=true"]
    found = run("evaluate", *given, "--strict", *asked, *one, "--json", "--set", f"output={picture}").json
    assert (found["correction"], picture.exists()) == ("auto", True)
    code, out, _ = run("evaluate", *given, "--strict", *asked, *one, "--correction", "none")
    assert code == 0
    assert "best cosine" in out
    assert "90 % of the answers are right, 90 % sure" in " ".join(out.split())
