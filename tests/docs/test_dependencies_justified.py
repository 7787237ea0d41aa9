import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "dependencies.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ENGINE = tomllib.loads((ROOT / "engines" / "milvus" / "pyproject.toml").read_text())["project"]
CLIENT = tomllib.loads((ROOT / "clients" / "python" / "pyproject.toml").read_text())


def names(requirements):
    return [re.match(r"[\w.-]+", requirement).group() for requirement in requirements if isinstance(requirement, str)]


HUBLESS = PROJECT["project"]
ADAPTERS = [
    tomllib.loads((ROOT / "clients" / name / "pyproject.toml").read_text())["project"]
    for name in ("langchain", "llama-index", "haystack")
]
NODE = json.loads((ROOT / "clients" / "typescript" / "package.json").read_text())
OF_CLIENT = set(names(CLIENT["project"]["dependencies"]))
DECLARED = {
    "hubless: library, command line and service": set(names(HUBLESS["dependencies"])),
    "Extras of hubless": {name for needed in HUBLESS["optional-dependencies"].values() for name in names(needed)},
    ENGINE["name"]: set(names(ENGINE["dependencies"])),
    "hubless-client": OF_CLIENT,
    **{adapter["name"]: set(names(adapter["dependencies"])) for adapter in ADAPTERS},
    "hubless for TypeScript, development only": {
        *NODE["devDependencies"],
        *names(PROJECT["dependency-groups"]["node"]),
    },
    # What the development group repeats of the client is justified on the client's list.
    "Development": {
        *names(PROJECT["dependency-groups"]["dev"]),
        *names(PROJECT["dependency-groups"]["audit"]),
    }
    - OF_CLIENT,
    "Development, large packages": set(names(PROJECT["dependency-groups"]["extras"]))
    - {"pylance", "ray", "umap-learn"},
}


def listed(section):
    """Package -> reason, of the table under a heading."""
    body = re.search(rf"(?ms)^## {re.escape(section)}$(.*?)(?=^## |\Z)", PAGE).group(1)
    rows = re.findall(r"(?m)^\| (`[^|]+`) \|.*?([^|]+) \|$", body)
    return {package: reason for packages, reason in rows for package in re.findall(r"`([^`]+)`", packages)}


@pytest.mark.parametrize("section", DECLARED)
def test_dependencies_and_their_reasons_are_the_declared_ones(section):
    reasons = listed(section)
    assert set(reasons) == DECLARED[section]
    assert min(len(reason.split()) for reason in reasons.values()) >= 2


def test_page_has_no_section_that_declares_nothing():
    assert re.findall(r"(?m)^## (.+)$", PAGE) == [*DECLARED, "What stays hand-written, and why"]
