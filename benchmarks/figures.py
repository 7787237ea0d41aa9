"""Figures of the pages, from the measurements that docs/ keeps: `python -m benchmarks.figures`, and `--check`.

A figure in a page stands between two comments, `<!--= NAME -->86 %<!--/-->`. NAME is one of `NAMED`, or a place in a
file of docs/ and a format: `performance/shards.json built.0.single .2f`. `*` in a place is each of a list, and a word
before the format says what becomes of these: `min`, `max`, `mean` or `len`. The command fills all figures in.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import confidence, few_queries, gains, harness, http_goals, peers, ten_million

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MARK = re.compile(r"<!--= (?P<name>.*?) -->(?P<text>.*?)<!--/-->", re.DOTALL)
OVER: dict[str, Callable[[Any], Any]] = {"min": np.min, "max": np.max, "mean": np.mean, "len": len}


@cache
def kept(file: str) -> Any:
    """Return what a file of docs/ has."""
    return json.loads((ROOT / "docs" / file).read_text("utf-8"))


def _sets() -> list[Any]:
    return sorted(kept("images/gains.json")["sets"], key=lambda found: -gains.mean(found, "auto"))


def _builds() -> Any:
    return np.array([change for found in _sets() for change in gains.changes(found)])


def _few(bank: str, correction: str = "auto") -> list[float]:
    return [float(np.mean(each["changes"][correction][bank])) for each in few_queries_sets()]


def few_queries_sets() -> list[Any]:
    """Return the sets whose gains by the number of bank queries are kept."""
    found: list[Any] = json.loads(few_queries.KEPT.read_text("utf-8"))["sets"]
    return found


def _goal(part: str, what: str) -> float:
    """Return what was measured over HTTP, by the words that begin its line."""
    lines = kept("performance/http_goals.json")["parts"][part]["lines"]
    (found,) = [each["measured"] for each in lines if each["what"].startswith(what)]
    return float(found)


NAMED: dict[str, Callable[[], str]] = {
    "gains": lambda: gains.reach(_sets()),
    "builds": lambda: f"{len(_builds())}",
    "builds gained": lambda: f"{np.mean(_builds() > gains.NOISE):.0%}",
    "builds within": lambda: f"{np.mean(abs(_builds()) <= gains.NOISE):.0%}",
    "builds lost": lambda: f"{np.mean(_builds() < -gains.NOISE):.0%}",
    "builds worst": lambda: f"{-_builds().min():.1f}",
    "demo functions": lambda: f"{kept('images/gains.json')['demo']['functions']:,}",
    "demo questions": lambda: f"{len(kept('images/gains.json')['demo']['rankings']['raw']['occurrence']):,}",
    "demo": lambda: gains.sentences(kept("images/gains.json")["demo"]),
    "confidence": lambda: confidence.sentence(json.loads(confidence.KEPT.read_text("utf-8"))),
    "few queries worst": lambda: gains.signed(min(_few("all"))),
    "answers a second": lambda: f"{_goal('100k', 'answers/s, 32 conn.'):,.0f}",
    "two workers": lambda: http_goals.by_two_workers(kept("performance/http_goals.json")),
    "labels": lambda: gains.tuned(_sets()),
    "peers": lambda: peers.sentence(kept("performance/peers.json")),
    "goals missed": lambda: _table(http_goals.missed(kept("performance/http_goals.json"))),
    "more targets": lambda: _table(ten_million.sums(kept("performance/ten_million.json"))),
}


def _table(rows: list[Any]) -> str:
    return f"\n\n{harness.markdown(rows)}\n\n"


def figure(name: str) -> str:
    """Return the figure of a name, as pages write it. Raises `KeyError` for one that is not there."""
    if name in NAMED:
        return NAMED[name]().replace("%", " %").replace("  %", " %")
    file, place, *over, form = name.split()
    values = list(_at(kept(file), place.split(".")))
    value = OVER[over[0]](values) if over else values[0]
    return f"{value:{form}}".replace("-", "−").replace("%", " %")


def _at(value: Any, place: list[str]) -> Iterator[Any]:
    if not place:
        yield value
        return
    first, *rest = place
    if first == "*":
        for each in value.values() if isinstance(value, dict) else value:
            yield from _at(each, rest)
    else:
        yield from _at(value[int(first)] if isinstance(value, list) else value[first], rest)


def filled(text: str) -> str:
    """Return the text of a page with its figures as they were measured, words apart by what they were."""

    def put(found: re.Match[str]) -> str:
        measured = figure(" ".join(found["name"].split()))
        same = " ".join(found["text"].split()) == measured  # only broken into other lines
        return found[0] if same else f"<!--= {found['name']} -->{measured}<!--/-->"

    return MARK.sub(put, text)


def main() -> None:
    """Fill the figures in, or say which pages have others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    wrong = []
    for page in PAGES:
        text = page.read_text("utf-8")
        if (new := filled(text)) != text:
            wrong.append(page.name)
            if not check:
                page.write_text(new, "utf-8")
    print(*wrong, sep="\n")
    sys.exit(f"run python -m benchmarks.figures for {', '.join(wrong)}" if check and wrong else 0)


if __name__ == "__main__":
    main()
