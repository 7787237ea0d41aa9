import pytest
from support.printed import words


@pytest.fixture
def compare(run, prepared):
    return lambda *more: run("query", *words("query", prepared), "--compare", *more)


def test_raw_and_corrected_stand_side_by_side(run, compare, prepared):
    ended = compare("--limit", "4")
    assert ended.code == 0
    lines = [line for line in ended.out.splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    asked = run("query", *words("query", prepared), "--limit", "4", "--json").json["results"][0]["hits"]
    raw = run("query", *words("query", prepared), "--limit", "4", "--strength", "0", "--json").json["results"][0][
        "hits"
    ]
    assert [line[0] for line in cells] == ["1", "2", "3", "4"]
    assert [line[1].split()[0] for line in cells] == [str(hit["id"]) for hit in raw]
    assert [line[3].split()[0] for line in cells] == [str(hit["id"]) for hit in asked]
    assert [line[4] for line in cells] == [f"{hit['offset']:+.3f}" for hit in asked]


@pytest.mark.parametrize("columns", [80, 200])
def test_long_names_are_cut_so_that_each_hit_has_one_line(compare, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    printed = compare("--limit", "10").out.splitlines()
    assert max(map(len, printed)) <= columns
    assert len([line for line in printed if line.startswith("│")]) == 10
    assert ("…" in "".join(printed)) == (columns == 80)


def test_json_has_both_answers_and_the_raw_rank_of_corrected_hits(compare):
    ((pair,),) = (compare("--limit", "3", "--json").json["results"],)
    assert set(pair) == {"raw", "corrected"}
    ranks = {hit["id"]: rank for rank, hit in enumerate(pair["raw"]["hits"], 1)}
    for hit in pair["corrected"]["hits"]:
        known = hit["explanation"]["raw_rank"]
        assert ranks.get(hit["id"], known) == known


@pytest.mark.parametrize("more", [["--set", "explain=true"], ["--strength", "0"]])
def test_what_compare_cannot_go_with_is_wrong_usage(compare, more):
    ended = compare(*more)
    assert ended.code == 2
    assert "--compare: cannot be combined with" in ended.err
