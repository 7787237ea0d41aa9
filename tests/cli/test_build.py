import numpy as np
import pytest
from support import small
from support.segments import unnamed

import hubless
from hubless.builder import shards


def test_build_shows_what_it_built_and_makes_it_current(build, run, tmp_path):
    ended = build()
    assert (ended.code, ended.err) == (0, "")
    shown = dict(ended.table)
    opened = small.check_complete(tmp_path / "catalog")
    assert shown["collection"] == "photos"
    assert shown["version"] == opened.version
    assert shown["targets"] == "40 of 8 dimensions, cosine"
    assert shown["index"] == "flat"
    assert shown["text queries"] == "no"
    assert "fitted" not in shown
    bank = opened.manifest.bank.queries
    assert shown["measured with"].startswith(f"{bank // 2} bank queries")
    shown = dict(run("inspect", "--catalog", tmp_path / "catalog", "--collection", "photos").table)
    assert shown["measured with"] == f"{bank // 2} bank queries, held out from a fit on {bank // 2}"
    assert shown["fitted"] == f"on all {bank} bank queries"


def test_parameters_of_a_correction_and_shards_are_taken_and_shown(build, monkeypatch):
    monkeypatch.setattr(shards, "SHARD_LEAST", 8)
    shown = dict(build("--correction", "nnn:k=4", "--set", "weight=0.5", "--set", "shard_targets=16").table)
    assert (shown["correction"], shown["index"]) == ("nnn k 4, weight 0.5", "flat in 3 segments")
    assert "shard_targets: expected a whole number from 8" in build("--set", "shard_targets=7").err


@pytest.mark.parametrize(
    ("options", "settings", "parameters"),
    [
        ({}, {"target_bank": "more.npz", "seed": 3}, {}),
        ({"ids": "ids.npy", "payload": "payload.jsonl", "encoder": "encoder"}, {}, {}),
        ({"targets": "all.parquet", "ids": "rank"}, {}, {}),
        ({"metric": "dot", "index": "hnsw", "correction": "none"}, {"seed": 7}, {}),
        ({"correction": "nnn"}, {}, {"k": 16, "weight": 0.25}),
        ({"correction": "is"}, {}, {"temperature": "auto"}),
    ],
)
def test_library_and_command_line_build_the_same(build, tmp_path, files, options, settings, parameters):
    def in_files(given):
        return {name: files / value if (files / str(value)).exists() else value for name, value in given.items()}

    options, settings = in_files({"targets": "targets.npy", **options}), in_files(settings)
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    more = [word for name, value in {**settings, **parameters}.items() for word in ("--set", f"{name}={value}")]
    ended = build(*words, *more, "--json")
    made = hubless.open(tmp_path / "catalog", "photos").manifest
    assert ended.json == made.model_dump(mode="json")
    given = (tmp_path / "other", "photos", options.pop("targets"), files / "bank.npy")
    built = hubless.build(*given, **options, **settings, parameters=parameters)
    assert unnamed(made).keys() == unnamed(built).keys()
    for name in ("offsets.npy", "index.faiss", "ids.arrow", "payload.arrow", "encoder.npy"):
        ours, theirs = ({k: v for k, v in unnamed(each).items() if k.endswith(name)} for each in (made, built))
        assert ours == theirs
    assert (made.provenance, made.correction, made.id_type) == (built.provenance, built.correction, built.id_type)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("k", "expected NAME=VALUE, got k"),
        ("=4", "expected NAME=VALUE"),
        ("sede=4", "there is no sede, did you mean seed? Known: bank_index, bank_of_targets,"),
        ("k=", "k: expected a whole number"),
    ],
)
def test_setting_that_is_wrong_is_wrong_usage(build, tmp_path, setting, message):
    ended = build("--correction", "nnn", "--set", setting)
    assert ended.code == 2
    assert message in " ".join(ended.err.replace("│", " ").split())
    assert not (tmp_path / "catalog").exists()


def test_payload_columns_are_shown_with_type_and_example_and_can_be_said(build, files, tmp_path):
    rows = "".join(f'{row:05},"[""a"", ""b""]",{row}\n' for row in range(40))
    (tmp_path / "payload.csv").write_text("zip,tags,rank\n" + rows)
    built = build("--payload", tmp_path / "payload.csv")
    assert ["zip", "string", '"00000"'] in built.table
    assert ["tags", "list<item: string>", '["a", "b"]'] in built.table
    said = build("--payload", tmp_path / "payload.csv", "--set", "payload_schema.rank=string")
    assert ["rank", "string", '"0"'] in said.table
    assert build("--payload", tmp_path / "payload.csv", "--set", "payload_schema=zip").code == 2


def test_schema_applies_to_payload_beside_the_vectors_and_needs_a_payload(build):
    assert ["rank", "string", '"0"'] in build("--set", "payload_schema.rank=string", targets="all.parquet").table
    assert "payload schema: expected a payload" in build("--set", "payload_schema.rank=string").err


NAMES = [f"picture {row}" for row in range(small.COUNT)]


def write_pictures(folder, ids):
    path = folder / "pictures.csv"
    path.write_text("\n".join(["id,n", *(f"{name},{row}" for row, name in enumerate(ids))]))
    return path


@pytest.mark.parametrize("ids", [NAMES, list(range(1000, 1000 + small.COUNT))], ids=["texts", "numbers"])
def test_column_id_of_the_payload_has_the_ids_unless_they_are_given(build, run, files, tmp_path, ids):
    assert build("--payload", write_pictures(tmp_path, ids)).code == 0
    collection = hubless.open(tmp_path / "catalog", "photos")
    assert list(collection.ids(np.arange(small.COUNT))) == ids
    assert collection.manifest.payload_columns == ["n"]
    assert collection.payload([0]) == [{"n": 0}]
    given = ("--targets", files / "targets.npy", "--query-bank", files / "bank.npy")
    shown = run("diagnose", *given, "--set", f"payload={write_pictures(tmp_path, ids)}", "--json").json
    assert {hub["target"]["id"] for hub in shown["hubs"]} <= set(ids)
    assert build("--payload", write_pictures(tmp_path, ids), "--ids", files / "ids.txt").code == 0
    collection = hubless.open(tmp_path / "catalog", "photos")
    assert collection.ids(np.arange(1)) == ["id-0"]
    assert collection.manifest.payload_columns == ["id", "n"]
