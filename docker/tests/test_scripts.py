"""Scripts that need Docker or a cluster: what of them can be tried without."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml
from support import small
from support.printed import commands
from support.size import settable, tracked

ROOT = Path(__file__).parents[2]
SCRIPTS = [path for path in tracked() if re.match(rb"#!.*\b(ba)?sh\n", (ROOT / path).read_bytes())]
DIGEST = "sha256:" + "5" * 64


@pytest.mark.parametrize("path", SCRIPTS, ids=str)
def test_script_is_one_of_its_shell(path):
    shell = (ROOT / path).read_text().splitlines()[0].split("/")[-1].split()[-1]
    checked = subprocess.run([shell, "-n", ROOT / path], check=False, capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("of_ray", [True, False], ids=["the job of Ray", "the smoke test"])
def test_build_of_a_script_is_taken(of_ray, run, tmp_path):
    text = (ROOT / "docker" / "smoke.sh").read_text().replace("\\\n", " ")
    if of_ray:
        text = yaml.safe_load((ROOT / "deploy" / "ray" / "rayjob.yaml").read_text())["spec"]["entrypoint"]
    words = re.search(r"\bbuild .*--catalog .*", text)[0].split()
    if of_ray:
        assert words[1:3] == ["--set", "executor=ray"]
        assert "executor" in settable("build", commands()["build"])
        del words[1:3]
    for option, rows in (("--targets", small.targets()), ("--query-bank", small.query_bank())):
        place = words.index(option) + 1
        words[place] = tmp_path / Path(words[place]).name
        np.save(words[place], rows)
    words[words.index("--catalog") + 1] = tmp_path / "catalog"
    assert run(*words).code == 0


def pinned(tmp_path, digest):
    """Run pin-base.sh with a `docker` that knows a digest. Return how it ended, and the file."""
    (tmp_path / "docker").write_text(f'#!/bin/sh\necho "{digest}"\n')
    (tmp_path / "docker").chmod(0o755)
    file = tmp_path / "Dockerfile"
    file.write_bytes((ROOT / "Dockerfile").read_bytes())
    environment = {"PATH": f"{tmp_path}:/usr/local/bin:/usr/bin:/bin"}
    ended = subprocess.run([ROOT / "docker" / "pin-base.sh", file], env=environment, check=False, capture_output=True)
    return ended.returncode, file.read_text()


def test_base_image_is_pinned_by_its_digest_wherever_it_stands(tmp_path):
    before = re.findall(r"(?m)^FROM (python:\S+)", (ROOT / "Dockerfile").read_text())
    code, text = pinned(tmp_path, DIGEST)
    assert code == 0
    assert re.findall(r"(?m)^FROM (python:\S+)", text) == [f"{each.partition('@')[0]}@{DIGEST}" for each in before]
    assert not (tmp_path / "Dockerfile.old").exists()


def test_answer_that_is_no_digest_changes_nothing(tmp_path):
    assert pinned(tmp_path, "denied") == (1, (ROOT / "Dockerfile").read_text())
