"""What an error tells people to do, they can do: lines run and lead to a build, options are those of the command."""

import ast
import bz2
import gzip
import json
import lzma
import pickle
import re
import shlex
import subprocess
import sys
import tomllib
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support import small
from support.files import write_npy
from support.size import RINGS, ROOT, code, tracked

from hubless import errors
from hubless.cli import application
from hubless.errors import how_to_install

ROWS = np.round(small.targets(), 3)
LISTS = ROWS.tolist()
BY_NAME = {f"it's {row}": each for row, each in enumerate(LISTS)}
WORDS = "".join(f"w{row} {' '.join(map(str, each))}\n" for row, each in enumerate(LISTS)).encode()
COLUMNS = {"ids": [*BY_NAME], "embeddings": LISTS, "model": "m"}
SIZES = np.array(ROWS.shape, "i4").tobytes()
FIRST = json.dumps({"vector": LISTS[0]})


def saved(save, **arrays):
    file = BytesIO()
    save(file, **arrays)
    return file.getvalue()


NPY = saved(np.save, arr=ROWS)
WRITTEN = {
    "a.npy.gz": gzip.compress(NPY),
    "a.npy": bz2.compress(NPY),
    "a": lzma.compress(NPY),
    "a.zip": saved(np.savez, x=ROWS),
    "a.jsonl": NPY,
    "dict.pkl": pickle.dumps(BY_NAME),
    "rows.pickle": pickle.dumps([{"id": "a", "vector": ROWS[0]}]),
    "columns.pkl": pickle.dumps(COLUMNS | {"embeddings": ROWS}),
    "columns.json": json.dumps(COLUMNS).encode(),
    "names.json": json.dumps(BY_NAME).encode(),
    "matrix.json": json.dumps(LISTS, indent=1).encode(),
    "glove.txt": WORDS,
    "fast.vec": b"%d %d\n" % ROWS.shape + WORDS,
    "numbers.txt": "\n".join(str(each)[1:-1] for each in LISTS).encode(),
    "big.fbin": SIZES + ROWS.tobytes(),
    "big.i8bin": SIZES + (60 * ROWS).astype("i1").tobytes(),
    "wide.jsonl": FIRST.encode("utf-16"),
    "latin.jsonl": FIRST.replace("}", ', "c": "Köln"}').encode("latin-1"),
}
NONE = ("--correction", "none")
STEP = re.compile(r"(?:convert it: (?P<line>.*?)|name it (?P<name>.*?))(?:, if you|, got|$)", re.MULTILINE)


@pytest.mark.parametrize("name", [*WRITTEN, "frame.pkl"])
def test_line_that_converts_a_file_leads_to_a_build(run, tmp_path, name):
    path = tmp_path / "it's here" / name
    path.parent.mkdir()
    if name in WRITTEN:
        path.write_bytes(WRITTEN[name])
    else:
        pytest.importorskip("pandas").DataFrame({"embedding": LISTS}, [*BY_NAME]).to_pickle(path)
    for _ in range(4):
        ended = run("build", "--catalog", tmp_path, "--collection", "c", *NONE, "--targets", path)
        if ended.code == 0:
            return
        told = STEP.search(ended.err)
        if told["name"]:
            path = path.rename(path.with_name(told["name"]))
        else:
            line = told["line"].replace("python ", f"{sys.executable} ", 1)
            subprocess.run(["bash", "-c", line], check=True)
            path = Path(shlex.split(line)[-1])
    pytest.fail(ended.err)


WRONG = {"mixed.jsonl": '{"id": "a", "text": "x"}\n{"id": "b", "text": ["l"]}\n', "twice.csv": "id,text\n1,x\n1,y\n"}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("command", ["build", "embed", "evaluate", "reindex"])
def test_option_that_an_error_names_is_taken_by_the_command_that_names_it(run, tmp_path, command, name):
    path = tmp_path / name
    path.write_text(WRONG[name])
    rows = write_npy(tmp_path / "t.npy", ROWS[:2])
    (tmp_path / "e.toml").write_text('type = "openai"\nurl = "http://127.0.0.1:9/v1"\nmodel = "x"\ndim = 4\n')
    job = tmp_path / "job.yaml"
    job.write_text(f"version: 1\ncollection: c\nquery_bank: {rows}\ntargets: [{{path: {rows}, payload: {path}}}]\n")
    words = {
        "build": ("--collection", "c", "--catalog", tmp_path, "--targets", rows, "--payload", path, *NONE),
        "embed": (path, "--encoder", tmp_path / "e.toml", "--output", tmp_path / "o", "--column", "text"),
        "evaluate": ("--targets", rows, "--queries", rows, "--relevant", rows, "--strict", "--set", f"groups={path}"),
        "reindex": (job, "--catalog", tmp_path),
    }[command]
    told = run(command, *words).err
    options = re.findall(r"--set [^;, )]+|--[a-z-]+(?: FILE)?", told)
    assert options or command != "build"
    for option in options:
        again = run(command, *words, *shlex.split(option.replace("FILE", str(rows))))
        assert again.code != 2
        assert again.err != told
    if key := re.search("`(.*)` in the job file", told):
        job.write_text(f"{job.read_text()}{key[1]}\n")
        assert "values of one type" not in run(command, *words).err


PROJECTS = [tomllib.loads((ROOT / path).read_text("utf-8"))["project"] for path in tracked("*pyproject.toml")]
COMMANDS = {
    entry.partition(":")[0].replace(".", "/") + ".py"
    for project in PROJECTS
    for entry in project.get("entry-points", {}).get("hubless.commands", {}).values()
}
"""Modules of rings that are commands: like `cli/`, they name options of their own."""


def test_options_that_the_library_names_are_those_of_a_command_beside_them():
    for path in code(*(RINGS[ring] for ring in ("library", "databases", "lab"))):
        if "cli" not in path.parts and "/".join(path.parts[-2:]) not in COMMANDS:
            nodes = ast.walk(ast.parse((ROOT / path).read_text("utf-8")))
            texts = "\n".join(str(each.value) for each in nodes if isinstance(each, ast.Constant))
            for command, option in re.findall(r"(?:\bhubless ([a-z]+) |[ (`;])(--[a-z][a-z-]+)", texts):
                assert option in [each for one in application._command(command).params for each in one.opts]


def test_extra_is_installed_from_the_clone_that_the_package_came_from_with_its_ring_and_else_by_name(monkeypatch):
    assert how_to_install("onnx") == f"pip install -e '{ROOT}[onnx]' -e {ROOT}/encoders"
    assert how_to_install("ray").endswith(f" -e {ROOT}/engines/ray")
    assert how_to_install("gpu", "hubless-gpu") == "pip install 'hubless-gpu[gpu]'"
    monkeypatch.setattr(errors, "distribution", lambda _: SimpleNamespace(read_text=lambda _: None))
    assert how_to_install("onnx") == "pip install 'hubless[onnx]'"
