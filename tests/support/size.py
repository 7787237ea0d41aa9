"""The size of the project, counted: `PYTHONPATH=tests python -m support.size` prints it as JSON.

Lines are all lines of tracked Python files, words those of the pages in docs/. An option is a line of a command's
`--help`, an entry a file or folder of a package. `tests/packaging/test_size.py` holds the limits.
"""

import ast
import collections
import json
import subprocess
from pathlib import Path

import click
import typer.main

from hubless.cli.application import app
from hubless_service.settings import Settings

ROOT = Path(__file__).parents[2]
LIBRARY, SERVICE = "indexer/hubless", "service/hubless_service"


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(line) for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def lines(folder):
    return sum((ROOT / file).read_text("utf-8").count("\n") for file in tracked(f"{folder}/*.py"))


def words():
    return sum(len((ROOT / page).read_text("utf-8").split()) for page in tracked("docs/*.md"))


def options(group):
    """Return the number of options of each command of a group, by its name."""
    context, found = click.Context(group), {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            found |= {f"{name} {inner}": count for inner, count in options(command).items()}
        else:
            found[name] = sum(parameter.param_type_name == "option" for parameter in command.params)
    return found


def entries():
    """Return how many files and folders each package has, without its `__init__`."""
    rooms = collections.defaultdict(set)
    for file in tracked(f"{LIBRARY}/*.py", f"{SERVICE}/*.py"):
        for depth in range(2, len(file.parts)):
            rooms["/".join(file.parts[:depth])].add(file.parts[depth])
    return {room: len(names - {"__init__.py", "__main__.py"}) for room, names in rooms.items()}


def names_twice():
    """Return the names of modules and of public classes that stand twice in library and service."""
    files = [file for file in tracked(f"{LIBRARY}/*.py", f"{SERVICE}/*.py") if file.parent.name != "cli"]
    modules = collections.Counter(file.stem for file in files)
    classes = collections.Counter(
        node.name
        for file in files
        for node in ast.parse((ROOT / file).read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    allowed = {"__init__", "__main__", "base"}
    return sorted(name for name, count in (modules + classes).items() if count > 1 and name not in allowed)


def size():
    commands = options(typer.main.get_command(app))
    return {
        "library": lines(LIBRARY),
        "service": lines(SERVICE),
        "tests": lines("tests"),
        "words": words(),
        "settings": len(Settings.model_fields),
        "options": sum(commands.values()),
        "options_of_a_command": max(commands.values()),
        "entries": max(entries().values()),
        "names_twice": names_twice(),
    }


if __name__ == "__main__":
    print(json.dumps(size(), indent=1))
