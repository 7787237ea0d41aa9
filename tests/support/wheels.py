"""Wheels that tests build, and what they declare."""

import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path
from zipfile import ZipFile


def build(project, folder):
    """Build the wheel of a project, unpack it in a new folder below another, and return the distribution."""
    unpacked = Path(tempfile.mkdtemp(dir=folder))
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(unpacked)]
    subprocess.run(command, cwd=project, capture_output=True, check=True)
    [wheel] = unpacked.glob("*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    [made] = distributions(path=[str(unpacked)])
    return made
