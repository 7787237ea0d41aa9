import numpy as np
import pytest
from support.hubs import pairs


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder of targets, queries, labels, and the first five queries."""
    folder = tmp_path_factory.mktemp("data")
    queries, targets, _ = pairs(300, apart=1.5)
    named = {"queries": queries, "targets": targets, "right": np.arange(300), "five": queries[:5]}
    for name, rows in named.items():
        np.save(folder / f"{name}.npy", rows)
    return folder


@pytest.mark.parametrize("command", ["build", "diagnose", "evaluate", "tune", "report"])
def test_targets_as_query_bank_are_refused_in_one_line_that_says_what_to_do(run, data, tmp_path, command):
    bank = (
        ["--set", f"query_bank={data / 'targets.npy'}"] if command == "tune" else ["--query-bank", data / "targets.npy"]
    )
    given = ["--targets", data / "targets.npy", *bank]
    labels = ["--queries", data / "queries.npy", "--relevant", data / "right.npy"]
    given += {
        "build": ["--catalog", tmp_path / "catalog", "--collection", "things"],
        "diagnose": [],
        "report": ["--output", tmp_path / "report.html"],
    }.get(command, labels)
    ended = run(command, *given)
    assert ended.code == 1
    assert ended.err.startswith("error: query bank")
    assert "100% targets" in ended.err
    assert "No queries yet?" in ended.err
    assert len(ended.err.splitlines()) == 1
    if command in ("build", "diagnose"):
        assert run(command, *given, "--set", "bank_of_targets=true").code == 0


def test_tiny_bank_is_warned_of_by_build_and_by_inspect(run, data, tmp_path):
    where = ["--catalog", tmp_path / "catalog", "--collection", "things"]
    built = run("build", *where, "--targets", data / "targets.npy", "--query-bank", data / "five.npy")
    assert built.code == 0
    assert built.err.startswith("warning: The query bank has only 5 queries.")
    assert run("inspect", *where).err == built.err
    assert "only 5 queries" in run("inspect", *where, "--json").json["notes"][0]
