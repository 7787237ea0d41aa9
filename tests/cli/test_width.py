import numpy as np
import pytest
from support.hubs import pairs

from hubless.measures.chance import antihubs_by_chance, most_by_chance, skewness_by_chance


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    queries, targets, _ = pairs(400, apart=1.5)
    np.save(folder / "targets.npy", targets)
    np.save(folder / "bank.npy", queries)
    return folder


@pytest.fixture
def built(run, data, tmp_path):
    where = ["--catalog", tmp_path / "catalog", "--collection", "things"]
    given = ["--targets", data / "targets.npy", "--query-bank", data / "bank.npy"]
    assert run("build", *where, *given).code == 0
    return where


@pytest.mark.parametrize(("columns", "most"), [("80", 80), (None, 100), ("500", 200)])
def test_tables_are_as_wide_as_asked_100_without_a_terminal_and_never_over_200(run, built, monkeypatch, columns, most):
    if columns is None:
        monkeypatch.delenv("COLUMNS")
    else:
        monkeypatch.setenv("COLUMNS", columns)
    lines = run("inspect", *built).out.splitlines()
    assert max(map(len, lines)) <= most


def test_chance_stands_beside_every_measure_of_hubness(run, built):
    measured = run("inspect", *built, "--json").json["measured"]
    assert measured["hubness_chance"] == pytest.approx(
        {
            "skewness": skewness_by_chance(40, 400, 10),
            "most": most_by_chance(40, 400, 10),
            "antihubs": antihubs_by_chance(40, 400, 10),
        }
    )
    shown = {row[0]: row[1] for row in run("inspect", *built).table}
    for name in ("skewness of N_10", "most found", "never found"):
        assert "by chance" in shown[name]
    assert f"{measured['hubness_chance']['antihubs']:.1%} by chance" in shown["never found"]
