"""Import each installed package, and all that hubless imports, also inside functions, of those that `trim.sh` trims.

Fails if something is missing.
"""

import ast
import importlib
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("hubless", "hubless_service", "hubless_databases", "hubless_encoders", "hubless_lab", "hubless_demo")
TRIMMED = {"faiss", "fastapi_offline", "numpy", "pyarrow", "pygments", "rich", "scipy", "uvloop"}
STARTED = {("hubless.cli", "main"), ("hubless_service.app", "create_app"), ("rich.traceback", "Traceback")}


def imports_of(source: str) -> Iterator[tuple[str, str | None]]:
    """Modules, each with a name that is imported from it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.module, alias.name) for alias in node.names)


def main() -> None:
    """Import them."""
    installed = [name for name in packages_distributions() if name.isidentifier() and find_spec(name) is not None]
    wanted = STARTED | {(name, None) for name in installed}
    for package in PACKAGES:
        found = find_spec(package)
        if found is None or found.origin is None:
            sys.exit(f"{package} is not installed")
        for file in Path(found.origin).parent.rglob("*.py"):
            wanted |= {each for each in imports_of(file.read_text("utf-8")) if each[0].partition(".")[0] in TRIMMED}
    for module, name in sorted(wanted, key=str):
        imported = importlib.import_module(module)
        if name is not None and not hasattr(imported, name):
            importlib.import_module(f"{module}.{name}")
    print(f"{len(wanted)} imports work")  # noqa: T201


if __name__ == "__main__":
    main()
