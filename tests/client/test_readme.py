"""The README's blocks run as they stand, against a collection with the columns of the demo's."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import demo_like
from support.serving import serving, wait_until_ready

from hubless_client import Client, problems
from hubless_service.app import create_app
from hubless_service.settings import Settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "clients" / "python" / "README.md").read_text("utf-8")
PYTHON, BASH = (re.findall(rf"(?ms)^```{language}\n(.*?)^```$", README) for language in ("python", "bash"))
ADDRESS = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def demo_like_server(tmp_path_factory):
    """A server with a small `stdlib`. Its encoder knows the words that the README asks for."""
    catalog = tmp_path_factory.mktemp("demo")
    demo_like.build(catalog, re.findall(r'text="(.*?)"', README))
    with serving(create_app(Settings(catalog=catalog))) as base_url:
        wait_until_ready(base_url)
        yield base_url


def test_readme_has_blocks_of_both_kinds():
    assert len(PYTHON) >= 5
    assert len(BASH) == 1
    assert README.count("```") == 2 * (len(PYTHON) + len(BASH))


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_python_block_runs(number, demo_like_server):
    code = PYTHON[number].replace(ADDRESS, demo_like_server)
    exec(compile(code, f"README block {number}", "exec"), {})  # noqa: S102


def test_blocks_print_what_they_promise(demo_like_server, capsys):
    exec(PYTHON[0].replace(ADDRESS, demo_like_server), {})  # noqa: S102
    assert len(capsys.readouterr().out.splitlines()) == 3
    (errors,) = [code for code in PYTHON if "except" in code]
    exec(errors.replace(ADDRESS, demo_like_server), {})  # noqa: S102
    assert "dimension_mismatch" in capsys.readouterr().out


def test_install_command_works_from_the_repository():
    # Without its dependencies and the tools that build it, as both would come from a package index.
    (command,) = BASH
    offline = [*command.split()[1:], "--dry-run", "--no-deps", "--no-build-isolation", "--ignore-installed"]
    done = subprocess.run([sys.executable, "-m", "pip", *offline], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Would install hubless-client" in done.stdout


def test_table_of_codes_has_each_code_beside_its_base_class():
    rows = re.findall(r"(?m)^\| (`[a-z_`, ]+`) \| `(Api\w+)`.* \|$", README)
    told = {code: base for codes, base in rows for code in re.findall(r"\w+", codes)}
    branches = {base for _, base in rows}
    for code, kind in problems.BY_CODE.items():
        if kind.__name__ in branches and kind.code not in told:
            continue  # the base class of a row: no server sends its code
        nearest = next(base.__name__ for base in kind.__mro__ if base.__name__ in branches)
        assert told.pop(code) == nearest
    assert told == {}


def test_table_of_methods_has_each_method():
    methods = {name for name in dir(Client) if not name.startswith("_")} - {"close"}
    rows = re.findall(r"(?m)^\| (`.*) \| .* \|$", README)
    assert methods <= {name for row in rows for name in re.findall(r"`(\w+)\(", row)}
