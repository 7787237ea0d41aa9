import json
import shutil
from importlib import metadata

import numpy as np
import pytest
from support import small

import hubless


@pytest.fixture
def catalog(template, tmp_path):
    return shutil.copytree(template, tmp_path / "catalog")


def on(catalog):
    return ("--catalog", catalog, "--collection", "photos")


def test_list_shows_collections_and_versions_and_marks_the_current(run, catalog):
    small.build(catalog, "songs")
    ended = run("list", "--catalog", catalog)
    first, second = small.entries(catalog)
    assert (ended.code, ended.err) == (0, "")
    assert [line[:5] for line in ended.table[1:]] == [
        ["photos", first, "", "40", "sn"],
        ["photos", second, "✓", "40", "sn"],
        ["songs", small.entries(catalog, "songs")[0], "✓", "40", "none"],
    ]


def test_list_says_within_80_columns_what_is_wrong_with_a_damaged_version(run, catalog, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    first, _ = small.entries(catalog)
    (catalog / "photos" / "versions" / first / "manifest.json").unlink()
    ended = run("list", "--catalog", catalog)
    assert ended.code == 0
    assert ended.table[1][:5] == ["photos", first, "", "", "refused"]
    assert f"photos, version {first}: manifest.json: missing" in " ".join(ended.out.split())
    assert max(map(len, ended.out.splitlines())) <= 80
    problems = [version["problem"] for version in run("list", "--catalog", catalog, "--json").json["photos"]]
    assert "manifest.json: missing" in problems[0]
    assert problems[1] is None


def test_inspect_verifies_files_and_canaries(run, catalog):
    _, version = small.entries(catalog)
    path = catalog / "photos" / "versions" / version
    offsets = small.path_of(path, "offsets.npy")
    np.save(offsets, np.load(offsets)[::-1])
    ended = run("inspect", *on(catalog))
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == f"error: {offsets}: was changed after it was written (its hash differs)\n"
    small.reseal(path)
    ended = run("inspect", *on(catalog))
    assert ended.code == 1
    assert ended.err.startswith(f"error: {path / 'canary.npz'}: canary query")


def test_rollback_prints_what_is_current_now(run, catalog):
    first, second = small.entries(catalog)
    ended = run("rollback", *on(catalog))
    assert (ended.code, ended.out) == (0, f"{first}\n")
    assert hubless.Catalog(catalog).current("photos") == first
    assert run("rollback", *on(catalog)).code == 1
    assert run("rollback", *on(catalog), "--version", second).out == f"{second}\n"
    assert run("rollback", *on(catalog), "--version", "unknown").code == 1


def test_prune_prints_what_it_deleted(run, catalog):
    first, second = small.entries(catalog)
    assert run("prune", *on(catalog)).out == ""
    ended = run("prune", *on(catalog), "--keep", "1")
    assert (ended.code, ended.out) == (0, f"{first}\n")
    assert small.entries(catalog) == [second]
    assert run("prune", *on(catalog), "--keep", "0").code == 2


def expected_hits(catalog, vectors, limit=10, strength=1.0, **options):
    opened = hubless.open(catalog, "photos", **options)

    def as_json(hit):
        numbers = {name: pytest.approx(getattr(hit, name), abs=1e-6) for name in ("score", "similarity", "offset")}
        return {"id": hit.id, "payload": small.payload()[hit.row]} | numbers

    return [list(map(as_json, hits)) for hits in opened.query(vectors, limit, strength)]


def test_query_takes_limit_strength_and_version(run, catalog, files):
    version = small.entries(catalog)[0]
    words = (
        "--vectors",
        files / "queries.npy",
        "--limit",
        3,
        "--strength",
        0.5,
        "--set",
        f"version={version}",
        "--json",
    )
    answered = run("query", *on(catalog), *words).json["results"]
    expected = expected_hits(catalog, small.vectors(5, 11), 3, 0.5, version=version)
    assert [result["hits"] for result in answered] == expected


def test_query_in_words_is_encoded_by_the_collection(run, catalog):
    texts = ["amber birch", "fjord"]
    answered = run("query", *on(catalog), "--text", texts[0], "--text", texts[1], "--json").json["results"]
    assert [result["hits"] for result in answered] == expected_hits(catalog, small.encoder().encode(texts))


def test_query_prints_a_table_a_query(run, catalog, files):
    ended = run("query", *on(catalog), "--vectors", files / "queries.npy", "--limit", "2")
    assert [title for title in ended.out.splitlines() if "query" in title and "│" not in title]
    expected = expected_hits(catalog, small.vectors(5, 11), 2)
    lines = [line for line in ended.table if line[0] != "id"]
    assert [line[0] for line in lines] == [hit["id"].strip() for hits in expected for hit in hits]
    assert [json.loads(line[4]) for line in lines] == [hit["payload"] for hits in expected for hit in hits]
    assert float(lines[0][1]) == pytest.approx(expected[0][0]["score"].expected, abs=1e-4)


def test_query_of_more_vectors_than_a_block_answers_them_all_in_order(run, tmp_path):
    small.build(tmp_path / "catalog")
    queries = np.concatenate([small.targets()] * 60)
    np.save(tmp_path / "many.npy", queries)
    asked = ("--vectors", tmp_path / "many.npy", "--limit", "1", "--json")
    answered = run("query", *on(tmp_path / "catalog"), *asked).json
    assert [result["hits"][0]["id"] for result in answered["results"]] == [*range(small.COUNT)] * 60


def test_query_shows_ids_and_payload_as_they_are_stored(run, tmp_path):
    awkward = ["[bold]x[/bold]", "[/]", "[red]", ":smile:", "a\\[b]", "[link=x]", "{y}", "%s"]
    ids = [*awkward, *(f"id {row}" for row in range(len(awkward), small.COUNT))]
    payload = [{"[/b]": f"[i]{wanted}[/nothing] :heart:"} for wanted in ids]
    small.build(tmp_path, ids=ids, payload=payload)
    np.save(tmp_path / "q.npy", small.targets()[:1])
    ended = run("query", *on(tmp_path), "--vectors", tmp_path / "q.npy", "--limit", small.COUNT)
    assert (ended.code, ended.err) == (0, "")
    shown = {line[0]: json.loads(line[4]) for line in ended.table[1:]}
    assert shown == dict(zip(ids, payload, strict=True))


def test_alias_is_set_moved_listed_asked_and_removed(run, catalog):
    small.build(catalog, "songs")
    here = ("--catalog", catalog)
    assert run("alias", *here, "--json").json == {}
    assert run("alias", *here, "latest", "photos", "--json").json == {"latest": "photos"}
    ended = run("alias", *here, "latest", "songs")
    assert (ended.code, ended.table) == (0, [["alias", "collection"], ["latest", "songs"]])
    assert run("inspect", *here, "--collection", "latest", "--json").json["collection"] == "songs"
    assert run("alias", *here, "latest", "--remove", "--json").json == {}
    again = run("alias", *here, "latest", "--remove")
    assert (again.code, again.err) == (1, "error: there is no alias 'latest'\n")


def test_query_by_id_skips_explains_and_leaves_the_target_out(run, catalog):
    first, second = run("query", *on(catalog), "--id", "target-9", "--id", "0", "--limit", 3, "--json").json["results"]
    assert "target-9" not in [hit["id"] for hit in first["hits"]]
    assert len(second["hits"]) == 3
    asked = ("--limit", 2, "--set", "skip=1", "--set", "explain=true", "--json")
    part = run("query", *on(catalog), "--id", "target-9", *asked).json
    (hits,) = (answer["hits"] for answer in part["results"])
    assert [hit["id"] for hit in hits] == [hit["id"] for hit in first["hits"][1:]]
    assert [hit["explanation"]["rank"] for hit in hits] == [2, 3]
    shown = run("query", *on(catalog), "--id", "target-9", "--set", "explain=true")
    assert shown.table[0][4:8] == ["rank", "raw rank", "found", "raw found"]
    wrong = run("query", *on(catalog), "--id", "nobody")
    assert (wrong.code, wrong.err) == (1, "error: no target has the id 'nobody'\n")
    assert run("query", *on(catalog), "--id", "0", "--text", "amber").code == 2


def test_version_is_printed_and_h_is_help(run):
    assert run("--version").out == f"hubless {metadata.version('hubless')}\n"
    assert run("build", "-h").out == run("build", "--help").out


def test_catalog_of_the_environment_stands_in_for_the_option(run, prepared, monkeypatch):
    monkeypatch.setenv("HUBLESS_CATALOG", str(prepared / "catalog"))
    assert set(run("list", "--json").json) == {"things"}
    assert run("list", "--catalog", prepared / "none").code == 1
