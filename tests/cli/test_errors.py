"""Exit codes and errors: 0 done, 1 failed, 2 wrong usage; one or two lines, and a traceback only if asked for."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from support import small

import hubless
from hubless.cli import application
from hubless.errors import InputError


@pytest.fixture
def catalog(tmp_path):
    small.build(tmp_path / "catalog")
    return tmp_path / "catalog"


def check_failed(ended, *parts):
    """One or two lines on standard error, nothing else, and exit code 1."""
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: ")
    assert ended.err.endswith("\n")
    assert len(ended.err.splitlines()) <= 2
    assert "Traceback" not in ended.err
    for part in parts:
        assert str(part) in ended.err


def write(path, content):
    path.write_bytes(content) if isinstance(content, bytes) else np.save(path, content)
    return path


@pytest.mark.parametrize("command", ["inspect", "rollback", "prune", "query"])
def test_unknown_catalog_and_collection_fail(run, catalog, command, files):
    more = ("--vectors", files / "queries.npy") if command == "query" else ()
    missing = run(command, "--catalog", catalog / "nowhere", "--collection", "photos", *more)
    check_failed(missing, "nowhere", "there is no catalog here")
    check_failed(run(command, "--catalog", catalog, "--collection", "../photos", *more), "no collection '../photos'")
    check_failed(run(command, "--catalog", catalog, "--collection", "songs", *more), "no collection 'songs'")


@pytest.mark.parametrize("value", [0, np.nan])
def test_bad_row_far_into_a_file_of_queries_is_named_as_the_file_counts(run, catalog, tmp_path, value):
    queries = np.ones((1300, 8), np.float32)
    queries[1200] = value
    path = write(tmp_path / "q.npy", queries)
    ended = run("query", "--catalog", catalog, "--collection", "photos", "--vectors", path)
    check_failed(ended, "vectors (q.npy), row 1200")


@pytest.mark.parametrize(
    "words",
    [
        ("frobnicate",),
        ("--frobnicate",),
        ("list",),
        ("list", "--catalog"),
        ("list", "--catalog", "c", "surplus"),
        ("prune", "--catalog", "c", "--collection", "x", "--keep", "0"),
        ("prune", "--catalog", "c", "--collection", "x", "--keep", "two"),
        ("query", "--catalog", "c", "--collection", "x"),
        ("query", "--catalog", "c", "--collection", "x", "--vectors", "v.npy", "--text", "t"),
        ("query", "--catalog", "c", "--collection", "x", "--text", "t", "--limit", "ten"),
    ],
)
def test_wrong_usage_exits_with_2_and_no_traceback(run, words):
    ended = run(*words)
    assert (ended.code, ended.out) == (2, "")
    assert "Traceback" not in ended.err
    assert re.fullmatch(r"error: .+\nSee: hubless[ a-z]* --help\n", ended.err)


NAMES = [name for name in application.COMMANDS if name != "bank"]


@pytest.mark.parametrize("command", ["", *sorted({*NAMES, "serve"})])
def test_help_fits_80_columns_and_names_no_types_of_python(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(*command.split(), "--help").out
    assert "Options:" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert not re.search(r"<(?!path>|str>)\w+(\[\w+\]|\|\w+| range)?>", shown)


def test_summaries_of_all_commands_are_whole_at_80_columns(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("--help").out
    for name in NAMES:
        _, summary = application.COMMANDS[name]
        assert summary in shown
        assert summary in run(name, "--help").out
    lines = shown.partition("Commands:\n")[2].splitlines()
    commands = [line for line in lines if line and not line.endswith(":")]
    assert {line.split()[0] for line in commands} == {*NAMES, "bank", "serve"}
    commands += run("bank", "--help").out.partition("Commands:\n")[2].splitlines()
    assert [line for line in commands if not line.endswith(".") or line.endswith("...")] == []


def test_commands_of_the_lab_are_missing_where_it_is_not_installed(run, monkeypatch):
    monkeypatch.setattr(application, "_added", dict)
    for command in ("evaluate", "demo"):
        assert f"\n  {command} " not in run("--help").out
        ended = run(command, "--help")
        assert (ended.code, ended.err.count("\n")) == (1, 1)
        assert ended.err.startswith(f"error: hubless {command} is of hubless-lab, which is not installed: `pip install")


@pytest.mark.parametrize("group", [(), ("bank",)])
def test_without_a_command_the_help_is_shown_as_it_is(run, group):
    ended = run(*group)
    assert (ended.code, ended.err) == (2, run(*group, "--help").out)


@pytest.mark.parametrize("command", ["build", "evaluate", "tune", "report"])
def test_example_in_a_help_can_be_copied(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    (first,) = run(command, "--help").out.partition("Example:\n")[2].splitlines()[:1]
    assert first.startswith(f"    hubless {command} ")


@pytest.mark.parametrize("error", [InputError("x", "y", "z"), OSError(28, "full"), KeyError("x"), MemoryError()])
def test_debug_shows_the_traceback_of_any_error(run, monkeypatch, capsys, error):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(hubless.Catalog, "collections", fail)
    monkeypatch.setattr(sys, "argv", ["hubless", "--debug", "list", "--catalog", "c"])
    with pytest.raises(type(error)):
        application.main()


@pytest.mark.parametrize("error", [KeyError("x"), MemoryError(), RuntimeError("one\ntwo\nthree")])
def test_error_that_nobody_thought_of_is_two_lines_that_ask_for_a_report(run, monkeypatch, error):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(hubless.Catalog, "collections", fail)
    check_failed(run("list", "--catalog", "c"), f"unexpected {type(error).__name__}", "hubless --debug")


@pytest.mark.parametrize(("line", "offered"), [("hubless diag", "diagnose"), ("hubless build --query", "--query-bank")])
def test_bash_is_offered_commands_and_options(run, monkeypatch, line, offered):
    asked = {"_HUBLESS_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    ended = run()
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.split() == [offered]


def test_completion_is_installed_for_the_shell_that_asks(tmp_path):
    command = ["bash", "-c", f"{sys.executable} -m hubless --install-completion; exit $?"]
    ended = subprocess.run(
        command, env=os.environ | {"HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert "bash completion installed" in ended.stdout
    [script] = (tmp_path / ".bash_completions").iterdir()
    assert str(script) in (tmp_path / ".bashrc").read_text()
    assert "_HUBLESS_COMPLETE=complete_bash" in script.read_text()
