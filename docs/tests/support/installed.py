"""Environments that have a built wheel and what it declares, and nothing else: `pip install` without the network.

Run as a program, it is the `pip` of such an environment. It builds the projects that are named by their folders, and
takes everything else from the locked environments, by what the packages declare.
"""

import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[3] / "tests"))
from support.wheels import build

OURS = re.compile("hubless.*|.*-hubless")


class Environment:
    """A virtual environment that holds links to packages: unpacked wheels, or else those of the first locked folder."""

    def __init__(self, home, built, locked):
        self.home, self._built, self._locked = Path(home), Path(built), locked
        self._packages = next(self.home.glob("lib/python3*/site-packages"))

    @classmethod
    def create(cls, home, built, locked):
        """Create an empty one, with a `pip`."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
        made = cls(home, built, locked)
        words = " ".join(f"'{word}'" for word in (sys.executable, __file__, home, built, *locked))
        made._write("pip", f'#!/bin/sh\nexec {words} -- "$@"\n')
        return made

    def install(self, *wanted):
        """Install projects by their folders, or packages by their names, with all that they declare."""
        todo = [self._requirement(each) for each in wanted]
        done = set()
        while todo:
            needed = todo.pop()
            if (key := (needed.name, *sorted(needed.extras))) in done:
                continue
            done.add(key)
            package = self._found(needed)
            self._link(package)
            for line in package.requires or []:
                more = Requirement(line)
                if more.marker is None or any(more.marker.evaluate({"extra": extra}) for extra in {"", *needed.extras}):
                    todo.append(more)

    def _requirement(self, wanted):
        if not (path := re.fullmatch(r"([./][^\[]*)(\[.*\])?", wanted)):
            return Requirement(wanted)
        if not Path(path[1], "pyproject.toml").exists():
            raise LookupError(f"{path[1]} is no project")
        return Requirement(f"{build(path[1], self._built).name}{path[2] or ''}")

    def _found(self, needed):
        for folder in (*self._built.iterdir(), *self._locked):
            for package in distributions(name=needed.name, path=[str(folder)]):
                if folder in self._locked and OURS.fullmatch(needed.name):
                    continue  # it is no package of an index: the page says from which folder
                if needed.specifier.contains(package.version, prereleases=True):
                    return package
        raise LookupError(f"no locked environment has {needed}")

    def _link(self, package):
        for top in {file.parts[0] for file in package.files if file.parts[0] not in ("..", "__pycache__")}:
            _merge(self._packages / top, Path(package.locate_file(top)))
        for command in package.entry_points.select(group="console_scripts"):
            start = f"if __name__ == '__main__':\n    sys.exit({command.attr}())\n"  # workers import the program
            imported = f"import sys\nfrom {command.module} import {command.attr}\n"
            self._write(command.name, f"#!{self.home}/bin/python\n{imported}{start}")

    def _write(self, name, text):
        program = self.home / "bin" / name
        program.write_text(text)
        program.chmod(0o755)


def _merge(link, source):
    """Link to a package. Where two share a folder, as namespaces do, link to what is in both."""
    if link.is_symlink() and source.is_dir() and link.resolve() != source.resolve():
        inside = list(link.resolve().iterdir())
        link.unlink()
        link.mkdir()
        for child in inside:
            (link / child.name).symlink_to(child)
    if not link.exists():
        link.symlink_to(source)
    elif not link.is_symlink() and link.is_dir():
        for child in source.iterdir():
            _merge(link / child.name, child)


if __name__ == "__main__":
    split = sys.argv.index("--")
    home, built, *locked = map(Path, sys.argv[1:split])
    command, *wanted = sys.argv[split + 1 :]
    if command != "install" or any(word.startswith("-") for word in wanted):
        raise SystemExit(f"pip: expected install and packages, got {command} {' '.join(wanted)}")
    try:
        Environment(home, built, locked).install(*wanted)
    except LookupError as error:
        raise SystemExit(f"pip: {error}") from error
