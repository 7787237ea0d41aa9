import pytest
from support.printed import words

from hubless.measures.chance import antihubs_by_chance, most_by_chance, skewness_by_chance


@pytest.mark.parametrize(("columns", "most"), [("80", 80), (None, 100), ("500", 200)])
def test_tables_are_as_wide_as_asked_100_without_a_terminal_and_never_over_200(
    run, prepared, monkeypatch, columns, most
):
    if columns is None:
        monkeypatch.delenv("COLUMNS")
    else:
        monkeypatch.setenv("COLUMNS", columns)
    lines = run("inspect", *words("inspect", prepared)).out.splitlines()
    assert max(map(len, lines)) <= most


def test_chance_stands_beside_every_measure_of_hubness(run, prepared):
    on = words("inspect", prepared)
    measured = run("inspect", *on, "--json").json["measured"]
    chance = (measured["queries"], 300, 10)
    assert measured["hubness_chance"] == pytest.approx(
        {
            "skewness": skewness_by_chance(*chance),
            "most": most_by_chance(*chance),
            "antihubs": antihubs_by_chance(*chance),
        }
    )
    shown = {row[0]: row[1] for row in run("inspect", *on).table}
    for name in ("skewness of N_10", "most found", "never found"):
        assert "by chance" in shown[name]
    assert f"{measured['hubness_chance']['antihubs']:.1%} by chance" in shown["never found"]
