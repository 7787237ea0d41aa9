"""Gives every file that names the version of this source another one: `python .ci/version.py 0.3.0`.

The version is that of `pyproject.toml` in the root. What is released, stored or measured keeps its own.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]


def spelled(version: str) -> tuple[str, str, str, str]:
    """Return the version as Python and npm spell it, the bounds of our packages on one another, and it in words."""
    major, minor, *_ = version.split(".")
    npm = re.sub(r"\.?(dev|a|b|rc)(\d+)$", r"-\1.\2", version)
    return version, npm, f">={version},<{major}.{int(minor) + 1}", f"version {major}.{minor} "


def places() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each file that names the version, and the ways in which it may."""
    command = ["git", "ls-files", "*pyproject.toml"]
    for file in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split():
        yield file, ('version = "{0}"', "{2}")
    yield "CITATION.cff", ("version: {0}",)
    yield "Dockerfile", ('version="{0}"',)
    for file in ("kubernetes/kustomization.yaml", "overlay/kustomization.yaml", "ray/rayjob.yaml"):
        yield f"deploy/{file}", ("newTag: {0}", "hubless:{0}", "hubless-ray:{0}")
    yield "docs/docker.md", ("hubless:{0}",)
    yield "docs/openapi.json", ('"version": "{0}"',)
    yield "clients/typescript/package.json", ('"version": "{1}"',)
    yield "clients/python/hubless_client/advice.py", ("{3}",)


def known() -> str:
    """Return the version of this source."""
    found: str = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    return found


def rename(version: str) -> None:
    """Write another version into all places."""
    before, after = spelled(known()), spelled(version)
    for file, forms in places():
        text = (ROOT / file).read_text("utf-8")
        for form in forms:
            text = text.replace(form.format(*before), form.format(*after))
        (ROOT / file).write_text(text, "utf-8")


if __name__ == "__main__":
    rename(sys.argv[1])
