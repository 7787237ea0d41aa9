"""Pictures of commands on a terminal of 80 columns, for the docs: python -m benchmarks.terminal_pictures FOLDER."""

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

COLUMNS = 80
BUILD = "hubless build --catalog catalog --collection things --targets targets.npy --query-bank bank.npy"
LABELS = "--queries queries.npy --relevant right.npy"
COMMANDS = {
    "diagnose": "hubless diagnose --targets targets.npy --query-bank bank.npy --set queries=queries.npy "
    "--set relevant=right.npy --set top=3",
    "corpus": "hubless diagnose --targets targets.npy --set payload=titles.csv --set top=3",
    "build": f"{BUILD} --payload titles.csv",
    "evaluate": f"hubless evaluate --catalog catalog --collection things {LABELS}",
    "compare": "hubless query --catalog catalog --collection things --vectors question.npy --limit 8 --compare",
}
"""In the order in which they are run; each finds what the ones before it made."""


def write_files(folder: Path) -> None:
    """Write the vectors of the quickstart: targets that lean as all queries lean are hubs."""
    rng = np.random.default_rng(0)
    themes = rng.normal(size=(20, 64))
    theme = rng.integers(20, size=3000)
    topics = themes[theme] + rng.normal(size=(3000, 64))
    lean = rng.normal(size=64)
    lean /= np.linalg.norm(lean)
    targets = topics + rng.exponential(4, size=(3000, 1)) * lean
    queries = topics + 1.5 * rng.normal(size=topics.shape) + 8 * lean
    named = {"targets": targets[:2000], "bank": queries[2000:], "queries": queries[:500], "question": queries[:1]}
    for name, rows in named.items():
        np.save(folder / f"{name}.npy", rows.astype(np.float32))
    np.save(folder / "right.npy", np.arange(500))
    titles = [f"photo {row} of theme {theme[row]}" for row in range(2000)]
    (folder / "titles.csv").write_text("\n".join(["title", *titles]))


def picture(command: str, folder: Path) -> str:
    """Return what a command prints, as SVG."""
    environment = os.environ | {"COLUMNS": str(COLUMNS), "PYTHONUTF8": "1"}
    # `script` makes a terminal: without one tables may be wider
    asked = f"stty cols {COLUMNS}; {sys.executable} -m {command} 2> /dev/null"
    words = ["script", "-qec", asked, "/dev/null"]
    ended = subprocess.run(words, cwd=folder, env=environment, stdout=-1, text=True, check=True)
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(Text(f"$ {command}", style="bold"))
    console.print(Text.from_ansi(ended.stdout.rstrip()))
    drawn = console.export_svg(title="hubless", theme=MONOKAI, unique_id="hubless")
    # the docs load nothing from other hosts
    return re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)


def main() -> None:
    """Write a picture of each command into the folder of the first argument."""
    output = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as made:
        write_files(Path(made))
        for name, command in COMMANDS.items():
            (output / f"terminal-{name}.svg").write_text(picture(command, Path(made)), "utf-8")


if __name__ == "__main__":
    main()
