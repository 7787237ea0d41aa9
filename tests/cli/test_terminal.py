import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from support import small
from support.processes import started

import hubless

HUBLESS = [sys.executable, "-m", "hubless"]
WAITING_BUILD = """
import sys
import time
from pathlib import Path
from hubless import cli
from hubless.store import catalog

def publish(*staged):
    Path(flag).touch()
    time.sleep(60)

flag = sys.argv.pop()
catalog.Staging.publish = publish
cli.main()
"""


@pytest.fixture
def environment():
    without = ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "PYTHONUNBUFFERED", "TERM", "PYTHONIOENCODING", "TTY_COMPATIBLE")
    kept = {name: value for name, value in os.environ.items() if name not in without}
    return {**kept, "TERM": "xterm", "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}


@pytest.fixture
def build_words(files, tmp_path):
    given = ("--targets", files / "targets.npy", "--query-bank", files / "bank.npy")
    return ["build", "--catalog", str(tmp_path / "catalog"), "--collection", "photos", *map(str, given)]


def on_a_terminal(words, environment, width=150):
    """Run with standard error (and output) on a terminal; the exit code and all that was written there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    process = subprocess.Popen([*HUBLESS, *words], env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:  # Linux ends a terminal with an error, others with nothing
            break
        if not read:
            break
        written += read
    os.close(ours)
    return process.wait(), written.decode()


def piped(words, environment, **options):
    return subprocess.run([*HUBLESS, *words], env=environment, capture_output=True, text=True, check=False, **options)


def test_bars_are_shown_on_a_terminal(build_words, environment):
    code, written = on_a_terminal(build_words, environment)
    assert code == 0
    for step in ("reading the inputs", "fitting the correction", "computing offsets", "measuring", "writing"):
        assert step in written
    assert "\x1b[?25l" in written  # the cursor is hidden while bars move
    assert "\x1b[?25h" in written
    assert "40/40" in written


def test_no_bars_are_shown_in_a_file_though_colours_are_forced(build_words, environment):
    ended = piped([*build_words, "--json"], {**environment, "FORCE_COLOR": "1", "TTY_COMPATIBLE": "1", "CI": "true"})
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "\x1b" not in ended.stdout


@pytest.mark.parametrize("correction", ["none", "sn"])
def test_bars_can_be_wanted_and_unwanted_by_the_library(tmp_path, capfd, correction):
    for unwanted in ({"progress": False}, {}):
        hubless.build(tmp_path, "photos", small.targets(), small.query_bank(), correction=correction, **unwanted)
        assert re.sub(r"note: .*\n", "", capfd.readouterr().err) == ""
    hubless.build(tmp_path, "photos", small.targets(), small.query_bank(), correction=correction, progress=True)
    assert "computing offsets" in capfd.readouterr().err


def test_table_fits_a_terminal_and_breaks_no_word_in_a_pipe(tmp_path, environment):
    name = "n" * 60
    version = small.build(tmp_path, name).version
    piped_out = piped(["list", "--catalog", str(tmp_path)], environment).stdout
    assert name in piped_out
    assert version in piped_out
    assert "none" in piped_out
    _, shown = on_a_terminal(["list", "--catalog", str(tmp_path)], environment, width=70)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).splitlines()
    assert max(len(line) for line in lines) == 70
    assert any(version in line for line in lines)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_build_that_is_stopped_leaves_the_current_version_and_no_traceback(build_words, tmp_path, environment, number):
    version = small.build(tmp_path / "catalog").version
    flag = tmp_path / "building"
    command = [sys.executable, "-c", WAITING_BUILD, *build_words, str(flag)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with started(command, env=environment, **pipes) as process:
        while not flag.exists():
            assert process.poll() is None, process.communicate()
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert out == ""
    assert "Traceback" not in err
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert small.entries(tmp_path / "catalog") == [version]
    else:
        assert process.returncode == -number
    assert small.check_complete(tmp_path / "catalog").version == version
    new = small.build(tmp_path / "catalog").version
    assert small.entries(tmp_path / "catalog") == [version, new]


def query(catalog, files, *more):
    """A query that prints more than a pipe holds."""
    on = ["--catalog", str(catalog), "--collection", "photos"]
    return ["query", *on, "--vectors", str(files / "targets.npy"), "--limit", "40", *more]


@pytest.fixture
def catalog(tmp_path):
    for _ in range(2):
        small.build_full(tmp_path / "catalog")
    return tmp_path / "catalog"


PRINTING = {
    "a table": lambda catalog, files: ["list", "--catalog", str(catalog)],
    "JSON": lambda catalog, files: query(catalog, files, "--json"),
}


def with_output(output, words, environment):
    return subprocess.run(
        [*HUBLESS, *words], env=environment, stdout=output, stderr=subprocess.PIPE, text=True, check=False
    )


@pytest.mark.parametrize("what", PRINTING)
def test_reader_that_goes_away_ends_a_command_without_a_word(catalog, files, environment, what):
    reading, writing = os.pipe()
    os.close(reading)
    ended = with_output(writing, PRINTING[what](catalog, files), environment)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (1, "")


@pytest.mark.parametrize("what", PRINTING)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_fails_in_a_line(catalog, files, environment, what):
    with Path("/dev/full").open("w") as full:
        ended = with_output(full, PRINTING[what](catalog, files), environment)
    assert ended.returncode == 1
    assert ended.stderr == "error: the output could not be written: No space left on device\n"


def test_json_is_unicode_and_a_table_what_the_terminal_can_show(catalog, files, environment):
    ascii_only = {**environment, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    as_json, as_table = (
        subprocess.run([*HUBLESS, *query(catalog, files, *more)], env=ascii_only, capture_output=True, check=False)
        for more in (["--json"], [])
    )
    assert (as_json.returncode, as_json.stderr) == (0, b"")
    assert "ä ö" in as_json.stdout.decode("utf-8")
    assert (as_table.returncode, as_table.stderr) == (0, b"")
    assert as_table.stdout.isascii()
    assert b"? ?" in as_table.stdout


HEAVY = ("fastapi", "uvicorn", "starlette", "sklearn", "scipy", "matplotlib", "pandas", "httpx", "ot")
AFTER = """
import sys
from hubless.cli import main
sys.argv = ["hubless", *sys.argv[1:]]
try:
    main()
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


@pytest.mark.parametrize("words", [[], ["--version"]])
def test_package_and_its_version_need_no_large_package(environment, words):
    code = AFTER if words else "import sys, hubless; print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", code, *words]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert {"faiss", "numpy", "pyarrow", "pydantic", "rich", *HEAVY} & set(ended.stderr.split()) == set()


@pytest.mark.parametrize("words", [["--help"], ["serve", "--help"], ["list"]])
def test_command_imports_nothing_that_it_does_not_need(catalog, environment, words):
    words = [*words, "--catalog", str(catalog)] if words == ["list"] else words
    command = [sys.executable, "-c", AFTER, *words]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0
    assert set(HEAVY) & set(ended.stderr.split()) == set()
