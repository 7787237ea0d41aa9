"""Print what the Python blocks of pages print: `python -m benchmarks.page_blocks [PAGE ...]`, such as `semantic-cache`.

The blocks of a page run as one script. The lines that they print are kept in `lab/docs/performance/page_blocks.json`.
"""

import argparse
import contextlib
import io
import json
import re
import runpy
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "lab" / "docs" / "performance" / "page_blocks.json"
BLOCK = re.compile(r"(?ms)^```python\n(.*?)^```$")


def printed(page: str) -> list[str]:
    """Return the lines that the blocks of a page print."""
    blocks = BLOCK.findall((ROOT / "lab" / "docs" / f"{page}.md").read_text("utf-8"))
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(said):
        script = Path(folder, "blocks.py")
        script.write_text("\n".join(blocks), "utf-8")
        runpy.run_path(str(script))
    return said.getvalue().splitlines()


def cache(lines: Sequence[str]) -> Iterator[str]:
    """The table of lab/docs/semantic-cache.md."""
    yield "| threshold | hits, of 50 % that can be | budget broken |"
    yield "| --- | ---: | ---: |"
    for line in lines:
        kind, by, hits, broken = re.fullmatch(r"(\w+) (\w+): (\d+%) hits, budget broken in (\d+%) of .*", line).groups()
        yield f"| {kind}, by the {by} | {hits} | {broken} of the draws |".replace("%", " %")


TABLES: Mapping[str, Callable[[Sequence[str]], Iterator[str]]] = {"semantic-cache": cache}


def main() -> None:
    """Run the pages that are named, or all, and keep what they print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", metavar="PAGE", default=[*TABLES])
    given = parser.parse_args()
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.is_file() else {}
    kept |= {page: printed(page) for page in given.pages}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
