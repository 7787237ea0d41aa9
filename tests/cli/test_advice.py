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
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support import small
from support.files import write_npy, write_parquet
from support.size import LIBRARY, ROOT

from hubless.cli import application
from hubless.errors import how_to_install

ROWS = np.round(small.targets(), 3)
NAMES = [f"it's {row}" for row in range(len(ROWS))]
SPOKEN = "".join(f"w{row} {' '.join(map(str, each))}\n" for row, each in enumerate(ROWS.tolist()))
NONE = ("--correction", "none")
STEP = re.compile(r"(?:convert it: (?P<line>.*?)|name it (?P<name>.*?))(?:, if you|, which|, got|$)", re.MULTILINE)


def archive(path):
    with zipfile.ZipFile(path, "w") as opened:
        opened.write(write_npy(path.with_name("x.npy"), ROWS), "x.npy")


def frame(**options):
    import pandas

    return pandas.DataFrame({"embedding": [*ROWS]}, **options)


def big(kind):
    return np.array(ROWS.shape, "i4").tobytes() + (100 * ROWS).astype(kind).tobytes()


def packed(compress):
    return lambda path: path.write_bytes(compress(write_npy(path.with_name("x.npy"), ROWS).read_bytes()))


WRITTEN = {
    "gz.npy.gz": packed(gzip.compress),
    "bz2.npy": packed(bz2.compress),
    "xz": packed(lzma.compress),
    "many.zip": archive,
    "named.npz": lambda path: write_parquet(path.with_suffix(".parquet"), ROWS).rename(path),
    "dict.pkl": lambda path: path.write_bytes(pickle.dumps(dict(zip(NAMES, ROWS, strict=True)))),
    "list.pickle": lambda path: path.write_bytes(pickle.dumps([{"id": "a", "vector": ROWS[0]}])),
    "columns.pkl": lambda path: path.write_bytes(pickle.dumps({"ids": NAMES, "embeddings": ROWS, "model": "m"})),
    "frame.pkl": lambda path: frame(index=NAMES).to_pickle(path),
    "columns.json": lambda path: path.write_text(json.dumps({"ids": NAMES, "embeddings": ROWS.tolist()})),
    "names.json": lambda path: path.write_text(json.dumps(dict(zip(NAMES, ROWS.tolist(), strict=True)))),
    "matrix.json": lambda path: path.write_text(json.dumps(ROWS.tolist(), indent=1)),
    "glove.txt": lambda path: path.write_text(SPOKEN),
    "fast.vec": lambda path: path.write_text(f"{len(ROWS)} {small.DIM}\n{SPOKEN}"),
    "numbers.txt": lambda path: np.savetxt(path, ROWS),
    "commas.dat": lambda path: np.savetxt(path, ROWS, delimiter=", "),
    "big.fbin": lambda path: path.write_bytes(big("f4")),
    "big.i8bin": lambda path: path.write_bytes(big("i1")),
    "wide.jsonl": lambda path: path.write_text(json.dumps({"vector": ROWS[0].tolist()}), "utf-16"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_line_that_converts_a_file_leads_to_a_build(run, tmp_path, name):
    here = tmp_path / "it's here"
    here.mkdir()
    path = here / name
    WRITTEN[name](path)
    words = ("--catalog", tmp_path / "c", "--collection", "c", *NONE)
    for _ in range(4):
        ended = run("build", *words, "--targets", path)
        if ended.code == 0:
            return
        told = STEP.search(ended.err)
        assert told, ended.err
        if told["name"]:
            path = path.rename(path.with_name(told["name"]))
            continue
        line = told["line"].replace("python ", f"{sys.executable} ", 1)
        subprocess.run(["bash", "-c", line], check=True)
        path = Path(shlex.split(line)[-1])
    pytest.fail(ended.err)


WRONG = {"mixed.jsonl": '{"id": "a", "text": "x"}\n{"id": "b", "text": ["l"]}\n', "twice.csv": "id,text\n1,x\n1,y\n"}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("command", ["build", "embed", "evaluate", "report", "reindex"])
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
        "evaluate": ("--targets", rows, "--queries", rows, "--relevant", rows, "--strict", "--set", f"payload={path}"),
        "report": ("--targets", rows, "--query-bank", rows, "--output", "r.html", "--set", f"payload={path}"),
        "reindex": (job, "--catalog", tmp_path),
    }[command]
    told = run(command, *words).err
    options = re.findall(r"--set [^;, )]+|--[a-z-]+(?: FILE)?", told)
    assert options or command != "build"
    for option in options:
        again = run(command, *words, *shlex.split(option.replace("FILE", str(rows))))
        assert again.code != 2
        assert again.err != told
    if command == "reindex" and "the job file" in told:
        job.write_text(job.read_text() + re.search("`(.*)` in the job file", told)[1] + "\n")
        assert "values of one type" not in run(command, *words).err


def test_options_that_the_library_names_are_those_of_a_command_beside_them():
    for path in (ROOT / LIBRARY).rglob("*.py"):
        if not {"cli", "demo"} & set(path.parts):
            nodes = ast.walk(ast.parse(path.read_text("utf-8")))
            text = "\n".join(
                each.value for each in nodes if isinstance(each, ast.Constant) and isinstance(each.value, str)
            )
            for command, option in re.findall(r"(?:\bhubless ([a-z]+) |[ (`;])(--[a-z][a-z-]+)", text):
                taken = [each for one in application._command(command).params for each in one.opts]
                assert option in taken, (path, command, option)


@pytest.mark.parametrize(
    "extra", tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
)
def test_extra_is_installed_by_what_it_asks_for(extra):
    told = shlex.split(how_to_install(extra))
    assert told[:2] == ["pip", "install"]
    assert len(told) > 2
    assert not any("hubless" in each for each in told)
