"""Pages that are run as a reader would run them: block after block, in one folder, servers included."""

import json
import os
import re
import signal
import subprocess
import time
import unicodedata
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from support.processes import free_port

ROOT = Path(__file__).parents[3]
PAGES = sorted(page for folder in ("docs", "[a-z]*/docs", "engines/*/docs") for page in ROOT.glob(f"{folder}/*.md"))
"""The pages of the site: those of `docs/`, and of each ring beside it."""
RUN = {"bash", "js", "python", "sh"}
SHOWN = {"text"}
"""Languages of blocks that nobody types. So are the answers among the examples of HTTP, whose titles say so."""

_BLOCK = re.compile(
    r'(?ms)^(?:<!-- (?P<note>[^\n]*?) -->\n+)?```(?P<language>\w*)(?: title="(?P<title>\w+)")?\n(?P<text>.*?)^```$'
)
_KEPT = ("LANG", "OMP_WAIT_POLICY", "TMPDIR")
_NPM = {
    "npm_config_cache": str(Path("~/.npm").expanduser()),
    "npm_config_prefer_offline": "true",
    "npm_config_userconfig": str(Path("~/.npmrc").expanduser()),
}
"""What is known of packages of Node here: a registry and copies."""
_SECONDS = 240
_SERVE = re.compile(r"(?m)^((?:\w+=\S+ )*)(hubless serve\b[^#\n&]*?)( *#.*)?$")
_SHELL = """set -euo pipefail
# start a server that the page starts in the foreground, in place of the one before
served() {
    if [ -n "${SERVER-}" ]; then kill "$SERVER"; wait "$SERVER" || true; fi
    "$@" & SERVER=$!
    until curl --silent --fail --output /dev/null http://127.0.0.1:$HUBLESS_PORT/readyz; do
        kill -0 "$SERVER"
        sleep .05
    done
}
"""
_PYTHON = """
import pathlib, sys
names = {"__name__": "__main__"}
for line in sys.stdin:
    path = pathlib.Path(line.strip())
    exec(compile(path.read_text("utf-8"), path, "exec"), names)
    path.unlink()
"""


def slug(heading):
    """Return the anchor that the site gives a heading: words of ASCII, joined by dashes."""
    ascii_ = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_).strip().lower())


def without_numbers(text):
    return re.sub(r"[-+]?[\d,.]+", "#", text)


@dataclass(frozen=True)
class Block:
    """A block of code of a page."""

    name: str  # page and line
    language: str
    title: str  # of an example of HTTP: the name of its schema
    text: str
    note: str  # the HTML comment before it: `not run: WHY`, `file: NAME`, `printed`, or nothing

    @property
    def says_why(self):
        return bool(re.match(r"not run: \w", self.note))

    @property
    def is_run(self):
        runs = self.language in RUN or self.title.endswith("Request") or self.note.startswith("file: ")
        return runs and not self.says_why

    @property
    def is_shown(self):
        return self.language in SHOWN or self.title.endswith(("Answer", "Explanation"))


def blocks(path):
    """Return the blocks of a page. The comment `none run: WHY` stands for all that follow it."""
    page = path.read_text("utf-8")
    whole = re.search(r"(?m)^<!-- none run: \w.* -->$", page)
    found = []
    for match in _BLOCK.finditer(page):
        name = f"{path.name}:{page.count(chr(10), 0, match.start('language')) + 1}"
        note = "not run: see above" if whole and whole.start() < match.start() else match["note"] or ""
        found.append(Block(name, match["language"], match["title"] or "", match["text"], note))
    assert page.count("\n```") == 2 * len(found), f"{path.name}: a block that is not read, such as an indented one"
    return found


class Walk:
    """A reader of one page: a shell, and a Python that is started from it. Close it to stop all that they started.

    The reader is in a folder, and has `programs` in front of the system's; `given` are for what a page takes as given.
    """

    def __init__(self, folder, programs, given):
        self.folder = folder
        self.port = str(free_port())
        self._home = folder.with_name(f"{folder.name}-home")
        self._home.mkdir()
        self._stack = ExitStack()
        self._log = self._stack.enter_context((self._home / "printed").open("w+b"))
        kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("npm_config_")}
        kept = _NPM | kept
        path = f"{programs}:/usr/local/bin:/usr/bin:/bin"
        environment = kept | {"PATH": path, "HOME": str(self._home), "HUBLESS_PORT": self.port}
        self._given = given
        self._shell = self._start(["bash"], environment)
        self._python = None
        self.run_shell(_SHELL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stack.close()

    def printed(self):
        return (self._home / "printed").read_text("utf-8", "replace")

    def run(self, block):
        """Run a block, or write it where its note says so; it fails with all that was printed."""
        text = re.sub(r"\b8000\b", self.port, block.text).replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        text = text.replace("=/var/", f"={self.folder}/var/").replace("qdrant://localhost:6333/", "qdrant://./qdrant/")
        if name := re.match(r"file: (\S+)", block.note):
            (self.folder / name[1]).write_text(text)
        elif block.language in ("sh", "bash"):
            self.run_shell(_SERVE.sub(r"\1served \2", text), block.name)
        elif block.language == "python":
            self.run_python(text, block.name)
        elif block.language == "js":
            (self.folder / "block.mjs").write_text(text)
            self.run_shell("node block.mjs", block.name)
        else:
            self.run_shell(_request(block.title, json.dumps(json.loads(text)), self.port), block.name)

    def run_shell(self, text, name="given"):
        path = self._write(text, name)
        self._do(self._shell, f"source '{path}' </dev/null\nrm '{path}'\n", path)

    def prepare(self, text):
        """Run lines of the shell with the programs for what is given."""
        self.run_shell(f"PATH='{self._given}':$PATH\n{text}\nPATH=${{PATH#*:}}")

    def enter(self, context):
        return self._stack.enter_context(context)

    def run_python(self, text, name="given"):
        if self._python is None:
            self.run_shell(f"env -0 > '{self._home}/environment'")
            lines = (self._home / "environment").read_text().split("\0")
            environment = dict(line.split("=", 1) for line in lines if line)
            self._python = self._start(["python", "-u", "-W", "error", "-c", _PYTHON], environment)
        path = self._write(text, name)
        self._do(self._python, f"{path}\n", path)

    def _write(self, text, name):
        path = self._home / name
        path.write_text(text)
        return path

    def _start(self, command, environment):
        program = subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
            text=True,
        )
        self._stack.callback(_end, program)
        return program

    def _do(self, program, line, path):
        """Let a program run what a file says. It removes the file when it is done, and ends if that fails."""
        program.stdin.write(line)
        program.stdin.flush()
        until = time.monotonic() + _SECONDS
        while path.exists():
            assert program.poll() is None, f"{path.name} failed\n{self.printed()}"
            assert time.monotonic() < until, f"{path.name} took too long\n{self.printed()}"
            time.sleep(0.005)


def _end(program):
    """Stop a program and what it started: first in order, then at once."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(program.pid, number)
        until = time.monotonic() + 2
        while number == signal.SIGTERM and program.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
    program.stdin.close()
    program.wait()


def _request(title, body, port):
    """The line of the shell that sends an example to the endpoint that takes it."""
    paths = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))["paths"]
    [(path, method)] = [
        (path, method)
        for path, methods in paths.items()
        for method, about in methods.items()
        if f"schemas/{title}" in json.dumps(about.get("requestBody", {}))
    ]
    collection = "created" if re.match("Create|Put|Patch|Delete", title) else "stdlib"
    address = f"http://127.0.0.1:{port}{path.replace('{collection}', collection).replace('{name}', 'words')}"
    return f"curl --silent --show-error --fail-with-body --request {method.upper()} {address} --json '{body}'"
