"""Private names of other packages may go at any release: each has a bound below the next major version."""

import re

import pytest
from support.size import BESIDE, RINGS, ROOT, tracked

OF_PYTHON = {"_asdict", "_at_fork_reinit", "_exit", "_srcfile"}
BOUND = {
    "_get_connection": ("pymilvus", 4, "engines/milvus"),
    "_network_backend": ("httpcore", 2, "clients/python", "."),
    "_on_rpc_error": ("pymilvus", 4, "engines/milvus"),
}
"""Name: the package, the first version that is refused, and the projects that use it."""


def test_private_names_that_no_module_of_ours_defines_stand_in_the_table():
    files = tracked(*(f"{folder}/*.py" for folder in {**RINGS, **BESIDE}.values()))
    code = "\n".join((ROOT / file).read_text("utf-8") for file in files if "tests" not in file.parts)
    used = re.findall(r"(?:\.|import )(_[a-z]\w*)", code)
    ours = re.findall(r"(?m)(?:(?:def|class|for) |(?:self|cls)\.|^ *|, )(_[a-z]\w*)(?=\(|:| =|,)", code)
    assert {*used} - {*ours} == {*OF_PYTHON, *BOUND}


@pytest.mark.parametrize("name", BOUND)
def test_package_of_a_private_name_is_bound(name):
    package, beyond, *projects = BOUND[name]
    for project in projects:
        assert re.search(rf'"{package}>=[^"]*,<{beyond}"', (ROOT / project / "pyproject.toml").read_text("utf-8"))
