"""Compares what is installed with what the package asks for: the server leans on names inside of uvicorn, for one."""

from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement

EXTRAS = ("", "collections", "serve")


def unmet(distribution: str = "hubless") -> str | None:
    """Return a sentence on the first dependency that is missing, too old or too new; None if all are right."""
    try:
        asked = requires(distribution) or []
    except PackageNotFoundError:  # run from its sources, which ask for nothing
        return None
    for requirement in map(Requirement, asked):
        marker = requirement.marker
        if marker is not None and not any(marker.evaluate({"extra": extra}) for extra in EXTRAS):
            continue
        needed = f"{requirement.name}{requirement.specifier}"
        try:
            there = version(requirement.name)
        except PackageNotFoundError:
            return f"{requirement.name} is not installed: pip install '{needed}'"
        if not requirement.specifier.contains(there, prereleases=True):
            wrong = f"{requirement.name} {there} is installed, with which the server may not answer"
            return f"{wrong}: pip install '{needed}'"
    return None
