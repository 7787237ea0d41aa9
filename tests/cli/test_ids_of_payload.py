import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import small

import hubless

NAMES = [f"picture {row}" for row in range(small.COUNT)]


def write(folder, ids):
    path = folder / "pictures.csv"
    path.write_text("\n".join(["id,n", *(f"{name},{row}" for row, name in enumerate(ids))]))
    return path


@pytest.mark.parametrize("ids", [NAMES, list(range(1000, 1000 + small.COUNT))], ids=["texts", "numbers"])
def test_column_id_of_the_payload_has_the_ids_unless_they_are_given(build, run, files, tmp_path, ids):
    assert build("--payload", write(tmp_path, ids)).code == 0
    collection = hubless.open(tmp_path / "catalog", "photos")
    assert list(collection.ids(np.arange(small.COUNT))) == ids
    assert collection.manifest.payload_columns == ["n"]
    assert collection.payload([0]) == [{"n": 0}]
    given = ("--targets", files / "targets.npy", "--query-bank", files / "bank.npy")
    shown = run("diagnose", *given, "--set", f"payload={write(tmp_path, ids)}", "--json").json
    assert {hub["target"]["id"] for hub in shown["hubs"]} <= set(ids)
    assert build("--payload", write(tmp_path, ids), "--ids", files / "ids.txt").code == 0
    collection = hubless.open(tmp_path / "catalog", "photos")
    assert collection.ids(np.arange(1)) == ["id-0"]
    assert collection.manifest.payload_columns == ["id", "n"]


@pytest.mark.parametrize("wrong", [["one"] * small.COUNT, [0.5 + row for row in range(small.COUNT)]])
def test_column_id_that_cannot_be_ids_is_refused_with_what_to_do(build, tmp_path, wrong):
    ended = build("--payload", write(tmp_path, wrong))
    assert ended.code == 1
    assert "payload, column id: expected" in ended.err
    assert "rename the column, or give the ids apart (--ids)" in ended.err
    assert not (tmp_path / "catalog").exists() or small.entries(tmp_path / "catalog") == []


def test_targets_of_json_lines_are_refused_with_a_command_that_mends_it(build, files, tmp_path):
    lines = [json.dumps({"id": name, "vector": row.tolist()}) for name, row in zip(NAMES, small.targets(), strict=True)]
    (tmp_path / "pictures.jsonl").write_text("\n".join(lines))
    ended = build(targets=tmp_path / "pictures.jsonl")
    assert ended.code == 1
    command = ended.err[ended.err.index("python -c ") : ended.err.index("; texts")]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(shlex.split(command), env=os.environ | {"PATH": path}, check=True)
    assert build(targets=tmp_path / "pictures.parquet").code == 0
    assert hubless.open(tmp_path / "catalog", "photos").ids(np.arange(1)) == NAMES[:1]
