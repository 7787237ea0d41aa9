"""Compares what is installed with what the package asks for: the server leans on names inside of uvicorn, for one."""

from importlib.metadata import PackageNotFoundError, requires, version

import faiss
from packaging.requirements import Requirement

EXTRAS = ("", "collections", "serve")


def unmet() -> str | None:
    """Return a sentence on the first dependency that is missing, too old or too new; None if all are right."""
    for requirement in map(Requirement, requires("hubless") or []):
        name, marker = requirement.name, requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in EXTRAS):
            continue
        needed = f"{name}{requirement.specifier}"
        try:
            there = version(name)
        except PackageNotFoundError:
            if name != "faiss-cpu":  # not its only name: faiss-gpu, and conda's faiss, are Faiss too
                return f"{name} is not installed: pip install '{needed}'"
            there = faiss.__version__
        if not requirement.specifier.contains(there, prereleases=True):
            return f"{name} {there} is installed, with which the server may not answer: pip install '{needed}'"
    return None
