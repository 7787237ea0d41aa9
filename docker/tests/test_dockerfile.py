import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

from hubless_service.settings import Settings

ROOT = Path(__file__).parents[2]


def instructions(text: str) -> list[list[tuple[str, str]]]:
    """The stages of a Dockerfile, each a list of (instruction, arguments)."""
    joined = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", text))
    stages: list[list[tuple[str, str]]] = []
    for line in filter(None, map(str.strip, joined.splitlines())):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            stages.append([])
        stages[-1].append((name, rest.strip()))
    return stages


STAGES = instructions((ROOT / "Dockerfile").read_text())
BUILD, BASE, FINAL = STAGES


def arguments(stage: list[tuple[str, str]], name: str) -> list[str]:
    return [rest for instruction, rest in stage if instruction == name]


def context_copies() -> list[tuple[str, str]]:
    """(source, destination) of every file that comes from the build context."""
    pairs = []
    for rest in (each for stage in STAGES for each in arguments(stage, "COPY")):
        if not rest.startswith("--from"):
            *sources, destination = rest.split()
            pairs += [(source, destination) for source in sources]
    return pairs


def copy_into(folder: Path, source: str) -> None:
    """What the build context holds of `source`: the file, files of a pattern, or the folder without tests."""
    if "*" in source:
        for found in ROOT.glob(source):
            copy_into(folder, str(found.relative_to(ROOT)))
        return
    target = folder / source
    target.parent.mkdir(parents=True, exist_ok=True)
    if (ROOT / source).is_dir():
        shutil.copytree(ROOT / source, target, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    else:
        shutil.copy(ROOT / source, target)


def test_every_install_from_a_lock_demands_hashes_and_the_rest_installs_the_wheel_alone():
    installs = re.findall(r"(?<!apt-get )\binstall (-.*?)(?: &&|$)", "\n".join(arguments(BUILD, "RUN")), re.MULTILINE)
    assert len(installs) == 4
    for install in installs:
        assert install.startswith(("--require-hashes -r ", "--no-deps /tmp/dist/")), install
    assert "docker/requirements.sh" in arguments(BUILD, "RUN")[0]


def test_image_runs_as_a_numbered_user_other_than_root_from_its_last_user_line_on():
    uid, gid = map(int, arguments(FINAL, "USER")[-1].split(":"))
    assert uid >= 1000
    assert gid >= 1000
    created = " ".join(arguments(BASE, "RUN"))
    assert f"--uid {uid} " in created


def test_environment_sets_where_the_service_looks_and_listens():
    environment = dict(re.findall(r"HUBLESS_(\w+)=(\S+)", " ".join(arguments(FINAL, "ENV"))))
    assert environment == {
        "CATALOG": arguments(FINAL, "VOLUME")[0],
        "HOST": "0.0.0.0",  # noqa: S104
        "PORT": arguments(FINAL, "EXPOSE")[0],
    }
    assert {name.lower() for name in environment} <= set(Settings.model_fields)


def test_health_check_runs_the_script_that_the_image_holds():
    health = arguments(FINAL, "HEALTHCHECK")[0]
    assert json.loads(health[health.index("[") :]) == ["python", "/opt/hubless/healthcheck.py"]
    assert ("docker/healthcheck.py", "/opt/hubless/") in context_copies()


def test_version_label_is_the_projects_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f'org.opencontainers.image.version="{project["version"]}"' in " ".join(arguments(FINAL, "LABEL"))


def test_build_context_admits_exactly_what_is_copied():
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert lines[0] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == {source for source, _ in context_copies()}


@pytest.mark.parametrize(("extras", "more"), [("", set()), ("otel,milvus", {"hubless_milvus"})])
def test_wheels_build_from_the_copied_files_alone(tmp_path, extras, more):
    for source, _ in context_copies():
        copy_into(tmp_path, source)
    environment = {**os.environ, "PYTHON": sys.executable}
    command = ["docker/wheels.sh", extras, tmp_path / "dist"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    wheels = {wheel.name.partition("-")[0]: ZipFile(wheel).namelist() for wheel in (tmp_path / "dist").glob("*.whl")}
    assert wheels.keys() == {"hubless", "hubless_databases", "hubless_encoders", "hubless_lab"} | more
    assert "hubless_service/__init__.py" in wheels["hubless"]


def pins(name: str) -> dict[str, str]:
    """Package -> version of a locked requirements file."""
    text = (ROOT / "requirements" / name).read_text()
    return dict(re.findall(r"(?m)^([a-z0-9-]+)==([^ ;\\]+)", text))


@pytest.mark.parametrize("name", ["build.txt", "service.txt"])
def test_what_the_image_installs_is_what_the_tests_ran_with(name):
    tested = pins("dev.txt")
    assert pins(name)
    assert pins(name).items() <= tested.items()


def test_image_installs_every_dependency_of_the_project():
    """The wheel goes in without its dependencies, so one that is missing from the lock would be missing at run time."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    declared = project["dependencies"] + extras["collections"] + extras["serve"]
    assert {re.match(r"[a-z0-9-]+", each).group() for each in declared} - {"hubless"} <= set(pins("service.txt"))


@pytest.mark.slow
def test_bill_of_materials_lists_each_locked_package_with_its_version_and_hashes(tmp_path):
    subprocess.run(["make", "sbom"], cwd=ROOT, check=True, capture_output=True)
    listed = json.loads((ROOT / "dist" / "sbom.cdx.json").read_text())["components"]
    assert {one["name"]: one["version"] for one in listed} == pins("service.txt")
    hashes = {each["content"] for one in listed for link in one["externalReferences"] for each in link["hashes"]}
    assert hashes == set(
        re.findall(r"--hash=sha256:([0-9a-f]{64})", (ROOT / "requirements" / "service.txt").read_text())
    )


def test_image_is_checked_as_it_is_once_it_is_trimmed():
    """A part that hubless imports would be missed only when somebody needs it."""
    assert "docker/trim.sh " in " ".join(arguments(BUILD, "RUN"))
    assert "trim-base.sh " in " ".join(arguments(BASE, "RUN"))
    assert [json.loads(run) for run in arguments(FINAL, "RUN")] == [["python", "/opt/hubless/check_imports.py"]]
    names = [name for name, _ in FINAL]
    assert names.index("RUN") > max(index for index, name in enumerate(names) if name in ("COPY", "ENV", "USER"))
    checked = (ROOT / "docker" / "check_imports.py").read_text()
    trimming = (ROOT / "docker" / "trim.sh").read_text()
    for package in ("fastapi_offline", "numpy", "pyarrow", "pygments", "scipy"):
        assert f"{package}/" in trimming
        assert f'"{package}"' in checked


def printed_requirements(extras: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [ROOT / "docker" / "requirements.sh", extras]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_image_without_extras_installs_what_the_lock_of_the_service_has():
    assert printed_requirements("").stdout == (ROOT / "requirements" / "service.txt").read_text()


EXTRAS = sorted(path.stem.removeprefix("image-") for path in (ROOT / "requirements").glob("image-*.txt"))


def test_all_extras_of_the_image_go_with_each_other_and_with_what_the_tests_ran_with():
    """No package is asked for in two versions, whatever extras are taken together."""
    printed = printed_requirements(",".join(EXTRAS)).stdout
    asked = re.findall(r"(?m)^([a-z0-9-]+)==([^ ;\\]+) *(;[^\\\n]*)?", printed)
    assert len(asked) == len({(name, marker) for name, _, marker in asked})
    assert len(asked) > len(pins("service.txt"))
    tested = pins("dev.txt")
    assert {(name, version) for name, version, marker in asked if not marker and name in tested} <= set(tested.items())


@pytest.mark.parametrize("extra", EXTRAS)
def test_extra_of_the_image_has_the_packages_that_the_project_names(extra):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {re.match(r"[a-z0-9-]+", each).group() for each in project["optional-dependencies"][extra]}
    assert {name for name in named if not name.startswith("hubless-")} <= set(pins(f"image-{extra}.txt"))
    assert not set(pins(f"image-{extra}.txt")) & set(pins("service.txt"))


def test_extra_that_the_image_cannot_have_is_refused_naming_those_that_it_can():
    ended = printed_requirements("object-storage,torch")
    assert ended.returncode == 2
    assert ended.stderr == f"EXTRAS: expected some of {', '.join(EXTRAS)}, got torch\n"


def test_documented_extras_are_those_of_the_image():
    (listed,) = re.findall(r"one or more of (.*?):", (ROOT / "docs" / "docker.md").read_text())
    assert re.findall("`([a-z0-9-]+)`", listed) == EXTRAS


@pytest.mark.slow  # it imports all that is large
def test_check_of_imports_finds_what_is_missing(tmp_path):
    """A scipy without stats, in front of the real one."""
    (tmp_path / "scipy").mkdir()
    (tmp_path / "scipy" / "__init__.py").write_text("")
    command = [sys.executable, str(ROOT / "docker" / "check_imports.py")]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "scipy" in ended.stderr.splitlines()[-1]
