"""The size of the project, counted: `PYTHONPATH=tests python -m support.size` prints it as JSON.

Code is counted in tokens: names, operators, numbers and strings. Docstrings, comments and blank lines are free. Words
are those of the pages in docs/. A knob is an option of a command or a name that its `--set` takes; an entry is a file
or folder of a package. `tests/packaging/test_size.py` holds the limits.
"""

import ast
import collections
import io
import json
import re
import subprocess
import token
import tokenize
import tomllib
from pathlib import Path

from radon.complexity import cc_visit
from radon.visitors import Function
from support.printed import commands
from typer.testing import CliRunner

from hubless.cli.application import app
from hubless_service.settings import Settings

ROOT = Path(__file__).parents[2]
LIBRARY = "indexer/hubless"
RINGS = {
    "library": LIBRARY,
    "service": "service",
    "databases": "databases",
    "encoders": "encoders",
    "lab": "lab",
    "matching": "matching",
    "objects": "objects",
    "ray": "engines/ray",
}
"""The folder of each. Its tests are in the folder's `tests/`, those of the inner two in that of the root."""
BESIDE = {"clients": "clients", "docker": "docker", "docs": "docs", "milvus": "engines/milvus"}
"""They call what they share with the library by the names that it has there."""
COUNTED = {token.NAME, token.OP, token.NUMBER, token.STRING}
WAYS = {
    "query": [["--vectors", "q.npy"]],
    "evaluate": [
        ["--relevant", "r.npy"],
        ["--relevant", "r.npy", "--collection", "c"],
        ["--relevant", "r.npy", "--collection", "c", "--strict"],
        ["--relevant", "r.npy", "--collection", "c", "--queries", "q.npy", "--set", "abstain=true"],
        ["--relevant", "r.npy", "--targets", "t", "--queries", "q", "--query-bank", "b", "--set", "abstain=true"],
    ],
    "report": [["--output", "r.html"]],
}
"""What a command needs besides its required options before it reads `--set`; each way knows other names."""


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(line) for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def tokens(source):
    """Return the number of tokens of a file's code. A formatted string is one, as before Python 3.12."""
    texts = {
        (node.lineno, node.col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
    opens, closes = getattr(token, "FSTRING_START", None), getattr(token, "FSTRING_END", None)
    count = depth = 0
    for each in tokenize.generate_tokens(io.StringIO(source).readline):
        if depth == 0 and (each.type == opens or (each.type in COUNTED and each.start not in texts)):
            count += 1
        depth += (each.type == opens) - (each.type == closes)
    return count


def code(*folders):
    """Return what ships: all files of Python but tests."""
    return [file for file in tracked(*(f"{folder}/*.py" for folder in folders)) if "tests" not in file.parts]


def tokens_in(files):
    return sum(tokens((ROOT / file).read_text("utf-8")) for file in files)


def tokens_of(folder):
    return tokens_in(tracked(f"{folder}/*.py"))


def kernel():
    """Return the files of the rooms that, by the contract of imports, know nothing of collections."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    [contract] = [each for each in contracts if each["name"].startswith("The kernel knows nothing")]
    rooms = tuple(f"indexer/{name.replace('.', '/')}" for name in contract["source_modules"])
    return [
        file for file in code(LIBRARY) if str(file).startswith(tuple(f"{room}{end}" for room in rooms for end in "/."))
    ]


def words(*pages):
    return sum(len((ROOT / page).read_text("utf-8").split()) for page in tracked(*pages))


def options(command):
    return [parameter for parameter in command.params if parameter.param_type_name == "option"]


def settable(called, command):
    """Return the names that `--set` of a command takes, as its message lists them."""
    if not any("--set" in option.opts for option in options(command)):
        return set()
    needed = [
        word
        for parameter in command.params
        if parameter.required
        for word in ([parameter.opts[-1], "x"] if parameter.param_type_name == "option" else ["x"])
    ]
    names = set()
    for way in WAYS.get(called, [[]]):
        given = [*called.split(), *needed, *way, "--set", "no.such=1"]
        said = CliRunner().invoke(app, given, env={"COLUMNS": "5000", "HUBLESS_CATALOG": "x"}).output
        known = re.search(r"Known: (.*)", said)
        if known is None:
            raise ValueError(f"{given} does not list what --set takes: {said}")
        names |= set(re.findall(r"\w+", known[1]))
    return names


def entries():
    """Return how many files and folders each package has, without its `__init__`."""
    rooms = collections.defaultdict(set)
    for file in code(*RINGS.values()):
        for depth in range(2, len(file.parts)):
            rooms["/".join(file.parts[:depth])].add(file.parts[depth])
    return {room: len(names - {"__init__.py", "__main__.py"}) for room, names in rooms.items()}


def _defined(node):
    """Return the names that a statement of a module defines."""
    match node:
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return [node.name]
        case ast.Assign():
            return [target.id for target in node.targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def names_twice():
    """Return the public names that stand twice in the rings: of modules, and of what modules define."""
    modules, defined = collections.Counter(), collections.Counter()
    for file in code(*RINGS.values()):
        if file.stem in {"__init__", "__main__", "base"}:
            continue
        if file.parent.name != "cli":
            modules[file.stem] += 1
        body = ast.parse((ROOT / file).read_text("utf-8")).body
        defined.update({name for node in body for name in _defined(node) if not name.startswith("_")})
    return sorted(name for counts in (modules, defined) for name, count in counts.items() if count > 1)


def _functions(blocks):
    """Yield the functions among some blocks of radon, and those inside them."""
    for block in blocks:
        if isinstance(block, Function):
            yield block
            yield from _functions(block.closures)


def complex_functions(most):
    """Return the complexity, as radon counts it, of each function of what ships and of benchmarks that has more."""
    found = {}
    for file in code(*RINGS.values(), *BESIDE.values(), "deploy", "benchmarks"):
        for function in _functions(cc_visit((ROOT / file).read_text("utf-8"))):
            if function.complexity > most:
                found[f"{file}: {function.fullname}"] = function.complexity
    return found


def size():
    called = commands()
    given = [len(options(command)) for command in called.values()]
    counted = {ring: tokens_in(code(folder)) for ring, folder in (RINGS | BESIDE).items()}
    inner = tokens_in(kernel())
    return {
        "kernel": inner,
        "collections": counted.pop("library") - inner,
        **counted,
        "tests": tokens_of("tests"),
        **{f"tests_of_{ring}": tokens_of(f"{(RINGS | BESIDE)[ring]}/tests") for ring in counted if ring != "service"},
        "words": words("docs/*.md"),
        "words_beside": words("*/docs/*.md"),
        "settings": len(Settings.model_fields),
        "knobs": sum(given) + sum(len(settable(words, command)) for words, command in called.items()),
        "options_of_a_command": max(given),
        "entries": max(entries().values()),
        "names_twice": names_twice(),
    }


if __name__ == "__main__":
    print(json.dumps(size(), indent=1))
