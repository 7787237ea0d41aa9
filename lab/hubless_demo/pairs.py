"""Pairs of documentation and code: real data for cross-modal search on every machine. Sources are never imported."""

import ast
import importlib.util
import re
import sys
import sysconfig
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path

from hubless.errors import InputError
from hubless.progress import Advance

MIN_WORDS = 4

# documentation of tests does not say what a function is for; the last is a program
SKIPPED_FOLDERS = {"test", "tests", "lib2to3"}
# not in every build of Python, as some systems pack them apart
OPTIONAL = {"curses", "distutils", "ensurepip", "idlelib", "tkinter", "turtle", "turtledemo", "venv"}

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Pair:
    """A function: what its documentation says, and its source without the documentation."""

    name: str
    """Qualified: module, classes and outer functions, joined by dots."""
    module: str
    file: str
    """Relative to the folder of the library."""
    line: int
    doc: str
    """First paragraph of the docstring, on one line."""
    code: str


@dataclass(frozen=True)
class Library:
    """Python files that belong together."""

    name: str
    root: Path
    files: tuple[Path, ...]


def standard_library() -> Library:
    """The standard library of this Python without its tests: the same files in every build of a version."""
    root = Path(sysconfig.get_path("stdlib"))
    modules = sorted(sys.stdlib_module_names - OPTIONAL)
    origins = [path for module in modules for path in (root / module, root / f"{module}.py") if path.exists()]
    files = [file for origin in origins for file in _python_files(origin)]
    return Library(f"Python {sysconfig.get_python_version()} standard library", root, tuple(files))


def installed_package(name: str) -> Library:
    """An installed package, by the name under which it is imported or installed."""
    origins = [origin for module in _import_names(name) for origin in _origins(module)]
    if not origins:
        raise InputError("package", "the name of an installed package with Python source", repr(name))
    # file names start with the package's own folder, as in its imports
    root = origins[0].parent
    return Library(name, root, tuple(file for origin in origins for file in _python_files(origin)))


def find_pairs(library: Library, advance: Advance = lambda files: None) -> list[Pair]:
    """Return functions whose documentation starts with a paragraph of 4 words or more; of the same ones the first."""
    kept: dict[str, Pair] = {}
    for file in library.files:
        for pair in _pairs_of_file(file, file.relative_to(library.root)):
            kept.setdefault(pair.doc, pair)
        advance(1)
    return list(kept.values())


def _python_files(origin: Path) -> tuple[Path, ...]:
    if origin.is_file():
        return (origin,)
    found = sorted(origin.rglob("*.py"))
    return tuple(file for file in found if not SKIPPED_FOLDERS.intersection(file.relative_to(origin).parts))


def _import_names(name: str) -> list[str]:
    if _origins(name):
        return [name]
    wanted = _normalised(name)
    return sorted(
        module
        for module, distributions in packages_distributions().items()
        if wanted in map(_normalised, distributions)
    )


def _normalised(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _origins(module: str) -> list[Path]:
    # finding a module by a dotted name would import the package around it
    if not module.isidentifier() or module == "__main__":
        return []
    spec = importlib.util.find_spec(module)
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        return [Path(location) for location in spec.submodule_search_locations]
    return [Path(spec.origin)] if spec.origin and spec.origin.endswith(".py") else []


def _pairs_of_file(path: Path, relative: Path) -> Iterator[Pair]:
    """Yield the documented functions of a file, without their docstrings; nothing of one that is no Python."""
    try:
        with tokenize.open(path) as file:
            source = file.read()
        with warnings.catch_warnings():
            # warnings about code of others do not concern our user
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    # ast counts columns in bytes of UTF-8, and knows only these line ends
    lines = source.encode().splitlines(keepends=True)
    module = _module_name(relative)
    for outer, function in _functions(tree.body, ()):
        doc = _first_paragraph(function)
        if doc is not None:
            name = ".".join((module, *outer, function.name))
            yield Pair(name, module, relative.as_posix(), function.lineno, doc, _undocumented(function, lines))


def _module_name(relative: Path) -> str:
    parts = relative.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _functions(body: Sequence[ast.AST], outer: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], _Function]]:
    for node in body:
        inside = outer
        if isinstance(node, _Function):
            yield outer, node
        if isinstance(node, _Function | ast.ClassDef):
            inside = (*outer, node.name)
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _functions(list(ast.iter_child_nodes(node)), inside)


def _first_paragraph(function: _Function) -> str | None:
    docstring = ast.get_docstring(function) or ""
    words = re.split(r"\n\s*\n", docstring.strip(), maxsplit=1)[0].split()
    return " ".join(words) if len(words) >= MIN_WORDS else None


def _undocumented(function: _Function, lines: Sequence[bytes]) -> str:
    doc = function.body[0]
    first = doc.lineno
    last = doc.end_lineno or doc.lineno
    before = b"".join(lines[function.lineno - 1 : first - 1]) + lines[first - 1][: doc.col_offset]
    after = lines[last - 1][doc.end_col_offset :] + b"".join(lines[last : function.end_lineno])
    return (before + after).decode()
