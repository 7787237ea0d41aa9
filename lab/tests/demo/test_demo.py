import json
import re
import shlex
import signal
import subprocess
import sys

import pytest
from support.made_pairs import make_pairs
from support.processes import free_port

import hubless
from hubless_demo.pairs import find_pairs, installed_package
from hubless_demo.story import collection_name, unique_names

PACKAGE = "http"  # of the standard library: 118 documented functions are enough to learn a little from


def demo(*arguments):
    return [sys.executable, "-m", "hubless", "demo", *map(str, arguments)]


def test_demo_measures_builds_asks_and_serves_the_curl_line_that_it_prints_until_ctrl_c(tmp_path):
    catalog = tmp_path / "catalog"
    arguments = demo("--package", PACKAGE, "--catalog", catalog, "--port", free_port())
    owner = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for line in owner.stderr:
            if line.startswith("curl "):
                break
        patient = [*shlex.split(line), "-f", "--retry", "60", "--retry-connrefused", "--retry-delay", "1"]
        answer = json.loads(subprocess.run(patient, capture_output=True, text=True, check=True).stdout)
        assert len(answer["hits"]) == 3
        owner.send_signal(signal.SIGINT)
        shown, _ = owner.communicate(timeout=60)
    finally:
        owner.kill()
        owner.communicate()
    assert owner.returncode == 0
    for ranking in ("raw", "nnn", "is", "sn", "dbsn", "auto"):
        assert re.search(rf"│ {ranking} +│ +\d+\.\d │ +\d+\.\d │ +\d+\.\d │ +-?\d+\.\d\d │", shown), ranking
    assert "times among the first 10" in shown
    assert shown.count("┃ corrected ") == 3
    assert (catalog / "k-occurrence.svg").read_text("utf-8").startswith("<svg")
    collection = hubless.open(catalog, PACKAGE)
    pairs = find_pairs(installed_package(PACKAGE))
    assert collection.count == len(pairs)
    expected = {name: getattr(pairs[0], name) for name in ("name", "module", "file", "line", "doc")}
    assert collection.point(pairs[0].name).payload == expected


def test_wrong_wish_ends_with_one_line_and_code_1(tmp_path):
    arguments = demo("--once", "--catalog", tmp_path / "catalog", "--package", "no_such_package")
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "package: expected the name of an installed package" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "catalog").exists()


def test_function_defined_twice_gets_its_line_into_its_id():
    one, two, three = make_pairs(3)
    same = [one, type(two)(one.name, two.module, two.file, 77, two.doc, two.code), three]
    assert unique_names(same) == [one.name, f"{one.name}:77", three.name]


@pytest.mark.parametrize(
    ("package", "name"),
    [(None, "stdlib"), ("import-linter", "import-linter"), ("_pytest", "pytest"), ("日本", "package")],
)
def test_collection_is_named_as_a_url_allows(package, name):
    assert collection_name(package) == name
