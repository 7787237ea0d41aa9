"""Every `hubless …` that pages, messages, docstrings and the console show is one that the command line takes."""

import ast
import re
import shlex
from pathlib import Path

import click
import pytest
import typer
from support.settable_names import FOUND, known
from support.size import tracked

ROOT = Path(__file__).parents[2]
OF_ALL = {"--debug", "--verbose"}
CUT = {"…", "...", "[OPTIONS]"}
"""What stands for more that is left out."""
SHELL = r"\s(?:\|\||\||&&|&|;|[0-9]?>{1,2}|<)(?=\s|$)|;"
CODE = r"(?ms)^ *(?:```|~~~).*?^ *(?:```|~~~)|`[^`\n]+(?:\n[^`\n]+)?`|<(code|pre)[^>]*>.*?</\1>"
PROSE = r"hubless [a-z]+(?: [a-z]+)?(?: --[a-z-]+(?:[ =][\w./:=-]*\w)?)+"
SOURCES = tracked(
    "*.md",
    "indexer/*.py",
    "lab/*.py",
    "service/*.py",
    "engines/*.py",
    "databases/hubless_databases/*.py",
    "encoders/hubless_encoders/*.py",
    "objects/hubless_objects/*.py",
    "clients/*.py",
    "console/*.js",
    "deploy/*",
)


def texts(path):
    """The text of a page; of a Python file its strings, with x for what is filled in."""
    content = (ROOT / path).read_text("utf-8")
    if path.suffix == ".js":
        return [re.sub(r"\$\{[^{}]*\}", "x", content)]
    if path.suffix != ".py":
        return [content]
    tree, whole, parts = ast.parse(content), [], set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts |= set(map(id, node.values))
            whole.append("".join(each.value if isinstance(each, ast.Constant) else "x" for each in node.values))
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in parts)
    return [*whole, *(each.value for each in constants if isinstance(each.value, str))]


def shown(text):
    """Yield the words after `hubless` of each command in a text: those in code, and in prose those with options."""
    joined = re.sub(r"\\\n\s*", " ", text)
    for code in re.finditer(CODE, joined):
        inner = re.sub(r"<[^>]+>", "", code[0]) if code[1] else code[0]
        fenced = inner.lstrip().startswith(("```", "~~~"))
        for line in inner.splitlines() if fenced or code[1] == "pre" else [" ".join(inner.split())]:
            yield from re.findall(r"(?:^|[\s`(])hubless ((?:--(?:debug|verbose) )?[a-z][^`]*)", line)
    for prose in re.findall(PROSE, re.sub(CODE, "", joined)):
        yield prose.removeprefix("hubless ")


def words_of(line):
    line = re.split(SHELL, f" {line} ")[0]
    line = re.sub(r"\$\([^)]*\)", "x", line)
    try:
        words = shlex.split(line, comments=True)
    except ValueError:  # an apostrophe of a sentence
        words = line.split()
    return [word for word in words if word not in CUT | OF_ALL]


def fault(line):
    """Why the command line would refuse a command, whatever the files are; None if it takes it."""
    words = words_of(line)
    length = next((n for n in (2, 1) if " ".join(words[:n]) in FOUND), None)
    if length is None:
        return None if words[0] not in {each.split()[0] for each in FOUND} or len(words) == 1 else "no such command"
    called, given = " ".join(words[:length]), words[length:]
    command = FOUND[called]
    if not any(each.startswith("-") for each in given):
        return None  # a sentence that begins with the command's name, or a synopsis
    context = click.Context(command, info_name=called)
    parser = command.make_parser(context)
    try:
        values, _, _ = parser.parse_args(list(given))
    except typer.TyperException as error:
        message = error.format_message()
        return None if "requires an argument" in message else message  # a sentence that names the option
    names = [re.split("[=.]", each)[0] for each in values.get("set_") or ()]
    wrong = [name for name in names if not name.isupper() and name not in known(called)]
    return f"--set has no {', '.join(wrong)}" if wrong else None


def test_all_commands_parse():
    lines = [(path, line) for path in SOURCES for text in texts(path) if "hubless " in text for line in shown(text)]
    assert len(lines) > 150
    assert [(str(path), line, why) for path, line in lines if (why := fault(line))] == []


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("`hubless report --output r.html --queries q.npy`", 1),
        ("Run hubless build --nothing x, then wait.", 1),
        ("<pre>hubless build --catalog c \\\n  --set nothing=1</pre>", 1),
        ("```sh\nhubless build --catalog c --set seed=1 | head --lines 3\n```", 0),
        ("hubless build makes a version", 0),
    ],
)
def test_faults_are_found(text, faults):
    assert len([line for line in shown(text) if fault(line)]) == faults
