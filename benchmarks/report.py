"""docs/performance.md from results: `python -m benchmarks.report [NAME ...]`, and `--check` whether it is up to date.

Results of the named benchmarks are taken over from `benchmarks/results` into `docs/performance`, where they are kept
under version control; the page is made of all that are there, in the words of the benchmarks' own docstrings.
"""

import argparse
import json
import shutil
import sys
from importlib import import_module
from pathlib import Path

from benchmarks import harness

ORDER = (
    "offsets_vs_gemm",
    "sinkhorn_vs_pot",
    "nnn_vs_package",
    "index_recipes",
    "correction_is_free",
    "filters",
    "http_service",
    "overload",
    "peers",
)
DOCS = Path(__file__).parents[1] / "docs"
PAGE, KEPT = DOCS / "performance.md", DOCS / "performance"
INTRODUCTION = """# Performance

What hubless costs, beside something that was measured in the same run. `python -m benchmarks.report` makes this page of
results of `make bench` and `make bench-full`. Where the load says that a machine was busy with other work, processor
times and ratios count, and times by the clock do not.
"""


def page():
    """The page's text, from the results that are kept."""
    return "\n".join([INTRODUCTION, *(section(name) for name in ORDER if (KEPT / f"{name}.json").is_file())])


def section(name):
    """What a benchmark found."""
    module = import_module(f"benchmarks.{name}")
    result = json.loads((KEPT / f"{name}.json").read_text())
    title, _, body = module.__doc__.partition("\n\n")
    where = result["machine"]
    versions = ", ".join(f"{package} {version}" for package, version in where["versions"].items() if version)
    parts = [
        f"## {title.partition(': `')[0]}",
        body.strip(),
        *map(harness.markdown, module.tables(result)),
        f"![{title.partition(': `')[0]}](performance/{name}.png)",
        f"`{result['command']}`: {where['processor']}, {where['cores']} cores, load {where['load']:.1f}; "
        f"Python {where['python']}, {versions}.",
    ]
    return "\n\n".join(parts) + "\n"


def take_over(names):
    KEPT.mkdir(exist_ok=True)
    for name in names:
        for ending in ("json", "png"):
            shutil.copy(harness.RESULTS / f"{name}.{ending}", KEPT)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="results to take over")
    parser.add_argument("--check", action="store_true", help="fail if the page is another")
    given = parser.parse_args()
    if given.check:
        sys.exit(None if PAGE.read_text() == page() else "docs/performance.md is not what its results say")
    take_over(given.names)
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
