"""`hubless export`: what it prints; what it writes is in tests/exporting."""

from support import small


def test_export_says_what_was_written_and_what_to_do_next(run, tmp_path):
    small.build_full(tmp_path / "catalog")
    out = tmp_path / "photos-qdrant"
    words = ("export", "--catalog", tmp_path / "catalog", "--collection", "photos")
    ended = run(*words, "--to", "qdrant", "--output", out)
    assert (ended.code, ended.err) == (0, "")
    assert f"{out}: 40 targets, vectors of 8 + 1 numbers" in ended.out
    assert f"python {out}/recipe.py load\n" in ended.out
    ended = run(*words, "--output", tmp_path / "out.jsonl", "--json")
    assert ended.json == {"path": f"{tmp_path}/out.jsonl", "count": 40, "width": 9, "left_out": 0, "notes": []}


def test_changed_names_are_warnings(run, tmp_path):
    small.build(tmp_path / "catalog", payload=[{"a b": row} for row in range(small.COUNT)])
    words = ("export", "--catalog", tmp_path / "catalog", "--collection", "photos")
    ended = run(*words, "--to", "milvus", "--output", tmp_path / "out")
    assert "warning: Payload column 'a b' is named 'a_b'." in ended.err


def test_unknown_database_is_wrong_usage(run, tmp_path):
    small.build(tmp_path / "catalog")
    words = ("export", "--catalog", tmp_path / "catalog", "--collection", "photos")
    ended = run(*words, "--to", "oracle", "--output", tmp_path / "out")
    assert ended.code == 2
    assert "'oracle' is not one of qdrant, pgvector" in ended.err
