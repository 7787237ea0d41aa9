import re
import subprocess
import sys
import tomllib
from email import message_from_bytes
from importlib import import_module
from pathlib import Path
from zipfile import ZipFile

import pytest

from hubless.errors import how_to_install, installed

ROOT = Path(__file__).parents[2]
PROJECTS = {
    "hubless": (".", "indexer/hubless", "service/hubless_service"),
    "hubless_lab": ("lab", "hubless_lab", "hubless_demo"),
    "hubless_matching": ("matching", "hubless_matching"),
    "hubless_milvus": ("engines/milvus", "hubless_milvus"),
    "hubless_databases": ("databases", "hubless_databases"),
    "hubless_encoders": ("encoders", "hubless_encoders"),
    "hubless_objects": ("objects", "hubless_objects"),
    "hubless_ray": ("engines/ray", "hubless_ray"),
    "hubless_client": ("clients/python", "hubless_client"),
    "langchain_hubless": ("clients/langchain", "langchain_hubless"),
    "llama_index_vector_stores_hubless": ("clients/llama-index", "llama_index"),
    "hubless_mcp": ("clients/mcp", "hubless_mcp"),
    "hubless_haystack": ("clients/haystack", "src/haystack_integrations"),
}
"""The folder of each distribution, and its packages in it."""


@pytest.fixture(scope="module", params=PROJECTS)
def built(request, tmp_path_factory):
    """(distribution, wheel, folders of packages) of each project here."""
    folder, *packages = PROJECTS[request.param]
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
        cwd=ROOT / folder,
        check=True,
        capture_output=True,
    )
    [wheel] = out.glob("*.whl")
    with ZipFile(wheel) as archive:
        yield request.param, archive, [ROOT / folder / package for package in packages]


def sources(packages):
    """Every file of the packages that git would keep, as a path inside the wheel."""
    return {
        str(path.relative_to(package.parent))
        for package in packages
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_wheel_holds_the_packages_and_the_console_and_nothing_else(built):
    distribution, archive, packages = built
    info = f"{distribution}-"
    held = {name for name in archive.namelist() if not name.startswith(info)}
    page = {f"hubless_service/{name}" for name in sources([ROOT / "console"])} if distribution == "hubless" else set()
    assert "hubless_service/console/index.html" in page or distribution != "hubless"
    assert held == sources(packages) | page


def test_wheel_says_that_each_package_is_typed(built):
    _, archive, packages = built
    typed = [name for name in archive.namelist() if name.endswith("/py.typed")]  # a namespace package has it further in
    assert {name.split("/")[0] for name in typed} == {package.name for package in packages}


def test_projects_have_addresses_together_and_then_links_that_the_registry_can_follow():
    """Without a public address there is nothing to name or to link to."""
    folders = [ROOT / folder for folder, *_ in PROJECTS.values()]
    urls = [tomllib.loads((folder / "pyproject.toml").read_text())["project"].get("urls", {}) for folder in folders]
    assert len({tuple(sorted(each)) for each in urls}) == 1
    for folder in folders if urls[0] else []:
        assert not re.findall(r"\]\((?!https://|#)[^)]+\)", (folder / "README.md").read_text("utf-8"))


@pytest.fixture
def metadata(built):
    _, archive, _ = built
    [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    return message_from_bytes(archive.read(name))


def test_metadata_names_the_licence_and_the_python_versions(metadata):
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"].startswith(">=3.1")
    assert metadata.get_payload().strip()


def test_metadata_promises_no_system_that_the_code_does_not_run_on(built, metadata):
    assert not [needed for needed in metadata.get_all("Requires-Dist") if "win32" in needed]
    systems = [each for each in metadata.get_all("Classifier") if each.startswith("Operating System")]
    posix = ["Operating System :: MacOS", "Operating System :: POSIX", "Operating System :: POSIX :: Linux"]
    assert systems == (posix if built[0] == "hubless" else [])


@pytest.mark.parametrize(
    "name", ["hubless", "hubless_client", "hubless_milvus", "hubless_databases", "hubless_encoders", "hubless_objects"]
)
def test_package_says_its_version(name):
    stated = tomllib.loads((ROOT / PROJECTS[name][0] / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert import_module(name).__version__ == stated


LACKING = {
    "hubless_lab": ("hubless.evaluate", "is of hubless-lab", "lab"),
    "hubless_databases": ("hubless.correct", "is of hubless-databases", "databases"),
    "hubless_matching": ("hubless.match", "is of hubless-matching", "matching"),
    "hubless_objects": ("hubless.RemoteCatalog", "is of hubless-objects", "objects"),
    "scipy": ("hubless.evaluate", "needs scipy", "lab"),
    "pydantic": ("hubless.Index", "needs pydantic", "collections"),
    "typer": ("the command hubless", "needs typer", "collections"),
    "pydantic_settings": ("hubless serve", "needs pydantic_settings", "serve"),
}


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("missing", LACKING)
def test_first_use_says_in_one_line_which_extra_brings_what_is_missing(missing):
    used, lacking, extra = LACKING[missing]
    calls = "import hubless; " + used if "." in used else "from hubless.__main__ import main; main()"
    code = f"import sys; sys.modules[{missing!r}] = None; sys.argv[1:] = ['serve']; {calls}"
    ended = run(code)
    told = f"{used} {lacking}, which is not installed: `{how_to_install(extra)}` brings it\n"
    start = "hubless.errors.HublessError: " if "." in used else "error: "
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.endswith(start + told)
    assert "." in used or ended.stderr == start + told
    assert "ModuleNotFoundError" not in ended.stderr


@pytest.mark.parametrize(
    ("missing", "left_out"), [(["hubless_lab"], "evaluate"), ([*LACKING, "hubless_encoders"], "Index")]
)
def test_names_whose_ring_is_missing_are_not_offered(missing, left_out):
    """Completion, `help` and `import *` ask for the value of each name that is offered."""
    code = f"import sys; sys.modules |= dict.fromkeys({missing}); from hubless import *; import hubless"
    shown = "print(*{*dir(hubless)} & {*hubless._PLACES} & {*hubless.__all__})"
    ended = run(f"{code}; {shown}")
    assert "offsets" in ended.stdout.split()
    assert left_out not in ended.stdout.split()


def test_first_use_says_on_which_systems_it_runs():
    code = "import sys; sys.modules['fcntl'] = None; import hubless; hubless.open"
    ended = run(code)
    assert "HublessError: hubless runs on Linux and macOS" in ended.stderr


def test_import_that_fails_for_another_reason_is_shown_as_it_is():
    with pytest.raises(ModuleNotFoundError, match=r"hubless\.no_such"), installed("hubless.x", "collections"):
        import_module("hubless.no_such")
