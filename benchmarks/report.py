"""lab/docs/performance.md from results: `python -m benchmarks.report [NAME ...]`, and `--check`.

Results of the named benchmarks are taken over from `benchmarks/results` into `docs/performance`, where they are kept
under version control; the page is made of all that are there, in the words of the benchmarks' own docstrings.
"""

import argparse
import json
import shutil
import sys
from importlib import import_module
from pathlib import Path
from textwrap import fill

from benchmarks import harness

ORDER = (
    "peers",
    "ten_million",
    "auto_choice",
    "bank_index",
    "filters",
    "http_goals",
    "writes",
)
OURS = ("fastapi", "uvicorn")
"""Packages of the service, whose versions no figure depends on."""
DOCS = Path(__file__).parents[1] / "lab" / "docs"
PAGE, KEPT = DOCS / "performance.md", DOCS / "performance"
INTRODUCTION = """# Performance

Each figure stands beside something measured in the same run (`make bench`, `make bench-full`). Times are of processors,
of one thread where nothing else is said. `load` is that of the machine before a line, `others` the share of the
processors that others took. Where it is high, trust ratios.
"""


def page():
    """The page's text, from the results that are kept."""
    results = {name: json.loads(path.read_text()) for name in ORDER if (path := KEPT / f"{name}.json").is_file()}
    shared = set.intersection(*(set(facts(result)) for result in results.values()))
    common = [fact for fact in facts(next(iter(results.values()))) if fact in shared]
    introduction = INTRODUCTION + fill(f"All were run with: {', '.join(common)}.", 120, break_on_hyphens=False) + "\n"
    return "\n".join([introduction, *(section(name, result, common) for name, result in results.items())])


def facts(result):
    """Where a benchmark ran, and with what."""
    where = result["machine"]
    versions = [
        f"{package} {version}" for package, version in where["versions"].items() if version and package not in OURS
    ]
    return [where["processor"], f"{where['cores']} cores", f"Python {where['python']}", *versions]


def section(name, result, common):
    """Return the section of a benchmark: its tables, and where it ran unless all ran there."""
    module = import_module(f"benchmarks.{name}")
    title, _, body = module.__doc__.partition("\n\n")
    title = title.partition(": `")[0]
    ran = [f"`{result['command']}`: load {result['machine']['load']:.1f}", *facts(result)]
    parts = [
        f"## {title}",
        body.strip(),
        *map(harness.markdown, module.tables(result)),
        f"![Plot](performance/{name}.png)",
        fill(", ".join(fact for fact in ran if fact not in common) + ".", 120, break_on_hyphens=False),
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
        sys.exit(None if PAGE.read_text() == page() else "lab/docs/performance.md is not what its results say")
    take_over(given.names)
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
