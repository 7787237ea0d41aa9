"""Figures of the pages, from the measurements beside them: `python -m benchmarks.figures`, and `--check`.

A figure in a page stands between two comments, `<!--= NAME -->86 %<!--/-->`. NAME is one of `NAMED`, or a place in a
file of a folder `docs` and a format: `performance/shards.json built.0.single .2f`. `*` in a place is each of a list,
and a word before the format says what becomes of these: `min`, `max`, `mean` or `len`. The command fills all figures
in.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import (
    confidence,
    confidence_of_scores,
    coverage,
    dimensions,
    expected_gain,
    few_queries,
    gains,
    harness,
    http_goals,
    job_keys,
    label_gate,
    left_out,
    logs_of_search,
    matching,
    mixtures,
    others_found,
    peers,
    promises,
    query_logs,
    semantic_cache,
    spend,
    target_priors,
    ten_million,
)
from benchmarks.others import tables
from hubless_service.processes.workers import WORKER_BYTES

ROOT = Path(__file__).parents[1]
DOCS = sorted({ROOT / "docs", *ROOT.glob("[a-z]*/docs"), *ROOT.glob("engines/*/docs")})
PAGES = [ROOT / "README.md", *(page for folder in DOCS for page in sorted(folder.glob("*.md")))]
MARK = re.compile(r"<!--= (?P<name>.*?) -->(?P<text>.*?)<!--/-->", re.DOTALL)
OVER: dict[str, Callable[[Any], Any]] = {"min": np.min, "max": np.max, "mean": np.mean, "len": len}


@cache
def kept(file: str) -> Any:
    """Return what a file beside the pages has."""
    return json.loads(next(path for folder in DOCS if (path := folder / file).is_file()).read_text("utf-8"))


def _sets() -> list[Any]:
    return sorted(kept("images/gains.json")["sets"], key=lambda found: -gains.mean(found, "auto"))


def _builds() -> Any:
    return np.array([change for found in _sets() for change in gains.changes(found)])


def _goal(part: str, what: str) -> float:
    """Return what was measured over HTTP, by the words that begin its line."""
    lines = kept("performance/http_goals.json")["parts"][part]["lines"]
    (found,) = [each["measured"] for each in lines if each["what"].startswith(what)]
    return float(found)


def _single_ms(kind: str) -> str:
    """Return the time of a query of 100,000 targets in an index of a kind."""
    lines = kept("performance/index_recipes.json")["lines"]
    (found,) = [each["single_ms"] for each in lines if (each["targets"], each["kind"]) == (100_000, kind)]
    return f"{found:.2g}"


def _cost(*kinds: str) -> str:
    """Return what the correction costs a query of so many kinds of index, in per cent at most."""
    lines = kept("performance/correction_is_free.json")["lines"]
    return f"{max(max(each['ratio'] for each in lines if each['kind'] in kinds) - 1, 0):.0%}"


def _loses(label: str) -> str:
    lost = sum(gains.mean(found, label) < 0 for found in _sets())
    return ("none", "one", "two", "three", "four", "five", "six")[lost]


def _words_gained() -> str:
    texts = kept("images/logs_of_search.json")["texts"]
    gained = [after - raw for raw, after in (each["figures"]["BM25"] for each in texts)]
    return f"{min(gained):.0f} to {max(gained):.0f} %"


def _of_logs(name: str) -> list[float]:
    return [each["figures"][name] for each in kept("images/logs_of_search.json")["sets"]]


def _scores_alone(name: str) -> str:
    return f"{np.mean([found['scores alone'][name] for found in kept('performance/confidence.json')]):.3f}"


def _packages_broken() -> str:
    found = kept("performance/confidence_of_scores.json")["Debian packages"]
    broken = [100 * each["cut broken"] for name, each in found.items() if name != "rrf"]
    return f"{min(broken):.0f} to {max(broken):.0f} %"


def _error(labels: int) -> str:
    return f"{confidence.with_mean(kept('performance/confidence.json'))[-1][f'{labels} labels']['error']:.3f}"


def _sets_of(benchmark: Any) -> Any:
    return json.loads(benchmark.KEPT.read_text("utf-8"))["sets"]


def _lines(lines: Iterable[str]) -> str:
    return "\n\n" + "\n".join(lines) + "\n\n"


def _table(rows: list[Any]) -> str:
    return _lines([harness.markdown(rows)])


NAMED: dict[str, Callable[[], str]] = {
    "gains": lambda: gains.reach(_sets()),
    "builds": lambda: f"{len(_builds())}",
    "builds gained": lambda: f"{np.mean(_builds() > gains.NOISE):.0%}",
    "builds within": lambda: f"{np.mean(abs(_builds()) <= gains.NOISE):.0%}",
    "builds lost": lambda: f"{np.mean(_builds() < -gains.NOISE):.0%}",
    "builds worst": lambda: f"{-_builds().min():.1f}",
    "is loses": lambda: _loses("is, τ=0.02"),
    "gate on films": lambda: label_gate.in_words(_sets_of(label_gate)),
    "demo": lambda: gains.sentences(kept("images/gains.json")["demo"]),
    "confidence": lambda: confidence.sentence(kept("performance/confidence.json")),
    "errors": lambda: ", ".join(_error(labels) for labels in confidence.PAIRS),
    "corrected scores alone": lambda: _scores_alone("corrected"),
    "raw scores alone": lambda: _scores_alone("raw"),
    "packages broken": _packages_broken,
    "words gained": _words_gained,
    "confidence of logs": lambda: f"{np.mean(_of_logs('AUROC of confidence')):.2f}",
    "top score of logs": lambda: f"{np.mean(_of_logs('AUROC of the top score')):.2f}",
    "answers a second": lambda: f"{_goal('100k', 'answers/s, 32 conn.'):,.0f}",
    "two workers": lambda: http_goals.by_two_workers(kept("performance/http_goals.json")),
    "worker memory": lambda: f"{WORKER_BYTES // 2**20} MiB",
    "peers": lambda: peers.sentence(kept("performance/peers.json")),
    "ms of flat": lambda: _single_ms("flat"),
    "ms of fastscan": lambda: _single_ms("fastscan"),
    "cost": lambda: _cost("flat", "fastscan"),
    "cost of lists": lambda: _cost("ivf_fastscan"),
    "a billion targets": lambda: ten_million.sentence(kept("performance/ten_million.json")),
    "table of words": lambda: _table(expected_gain.summary(kept("performance/expected_gain.json")["banks"])),
    "table of gains": lambda: _lines(gains.markdown(_sets())),
    "table of few queries": lambda: _lines(few_queries.markdown(_sets_of(few_queries))),
    "table of query logs": lambda: _lines(query_logs.markdown(_sets_of(query_logs))),
    "table of dimensions": lambda: _lines(dimensions.markdown(_sets_of(dimensions))),
    "table of tenants": lambda: _lines(mixtures.markdown(_sets_of(mixtures))),
    "table of clicks": lambda: _lines(target_priors.markdown(_sets_of(target_priors))),
    "table of methods left out": lambda: _lines(left_out.markdown(_sets_of(left_out))),
    "table of confidence": lambda: _lines(confidence.table(kept("performance/confidence.json"))),
    "table of promises": lambda: _lines(promises.table(kept("performance/confidence.json"))),
    "answered by labels": lambda: promises.answered_by_labels(kept("performance/confidence.json")),
    "table of scores alone": lambda: _lines(confidence_of_scores.table(kept("performance/confidence_of_scores.json"))),
    "table of logs": lambda: _lines(logs_of_search.means(_sets_of(logs_of_search))),
    "table of texts": lambda: _lines(logs_of_search.of_texts(kept("images/logs_of_search.json")["texts"])),
    "table of mteb": lambda: _lines(tables.of_mteb(kept("performance/mteb.json"))),
    "popular place": lambda: figure(
        "performance/others_found.json sets.movielens_user_film_als64.popularity.along_direction .2f"
    ),
    "asked or not": lambda: others_found.of_prior(kept("performance/others_found.json")["sets"]),
    "table of findability": lambda: _lines(
        others_found.findability_table(kept("performance/others_found.json")["sets"])
    ),
    "table of popularity": lambda: _lines(others_found.popularity_table(kept("performance/others_found.json")["sets"])),
    "table of brevity": lambda: _lines(others_found.brevity_table(kept("performance/others_found.json")["brevity"])),
    "table of job keys": lambda: _lines(job_keys.table()),
    "table of a second look": lambda: _lines(spend.table(kept("performance/spend.json"))),
    "table of two piles": lambda: _lines(matching.table(kept("performance/matching.json"))),
    "table of one pile": lambda: _lines(matching.table_of_one(kept("performance/matching.json"))),
    "broken matches": lambda: f"{max(matching.broken(kept('performance/matching.json'))):.0%}",
    "table of coverage": lambda: _lines(coverage.table(kept("performance/coverage.json"))),
    "table of a cache": lambda: _lines(semantic_cache.table(kept("performance/semantic_cache.json"))),
}


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
