"""Four times what can be answered: `python -m benchmarks.overload [--catalog FOLDER]`, about four minutes.

The service has one core, those who ask have another. `capacity` is what 64 connections get that ask again as soon as
they are answered, and wait as long as it takes. Then four times as many requests come at random moments, whatever has
become of the ones before. They are timed where they are sent, from their moment until the answer is there, and may take
500 ms: by the service's setting, or each by its own `timeout_ms`; over connections that stay, or each over a new one;
alone, or while another client sends pictures (of 50 megapixels in 6 kB, and of 2) or reranks three lists of 50 without
a pause, beside which the capacity is measured too. A collection has 100,000 targets of 512 dimensions in a flat index;
pictures go to another. Medians of several rounds. `--keep` puts them where `python -m benchmarks.figures` finds them.
"""

import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import harness
from benchmarks.http_service import PACKAGES, PATH, QUERIES, build, hubless_service, vectors
from benchmarks.segments import tests_support
from benchmarks.wrk import processor_seconds

KIND, CONNECTIONS, TIMES, DEADLINE_MS = "flat", 64, 4.0, 500
KEPT = Path(__file__).parents[1] / "lab" / "docs" / "performance" / "overload.json"
SERVER, CLIENTS = 0, 1
"""Cores of those that this process may use."""
RERANK = "/v1/rerank"
LISTS, HITS, SIDE = 3, 50, 7071
CASES = {
    "queries": ("queries", "queries"),
    "queries over new connections": ("queries", "queries", None, "--fresh"),
    "queries with `timeout_ms`": ("queries", "queries that name their time"),
    "queries beside pictures": ("queries", "queries", "pictures"),
    "queries beside rerank": ("queries", "queries", "rerank"),
}
"""What is asked to find the capacity, what is asked too often, and what beside both."""


@contextmanager
def on_core(number):
    """Have processes that are started here stay on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(before)[number % len(before)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def client(module, side, target, *options):
    """Start a client of its own, which prints what it saw."""
    path, file = target
    url = side.url.removesuffix(PATH.format(KIND)) + path
    command = [sys.executable, "-m", f"benchmarks.{module}", url, file, *map(str, options)]
    with on_core(CLIENTS):
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def told(process):
    """Wait for a client; what it saw."""
    said, _ = process.communicate()
    assert process.returncode == 0, said
    return json.loads(said)


def beside(catalog, company, seconds, module, asked, *given, **settings):
    """Run a client, beside another one if there is any; what both saw, and how busy the server was."""
    with on_core(SERVER), hubless_service(catalog, KIND, log_level="warning", **settings) as side:
        other = company and client("load", side, company, "--seconds", seconds)
        before = processor_seconds(side.pid)
        found = told(client(module, side, asked, "--seconds", seconds, *given))
        busy = (processor_seconds(side.pid) - before) / seconds
        return {**found, "server": busy, "company": told(other)["statuses"] if other else {}}


def one_round(catalog, options, patient, asked, company=None, *more):
    """Measure the capacity, by those who wait, and then what becomes of more than it."""
    seconds = options.seconds
    peak = beside(catalog, company, seconds / 2, "load", patient, "--connections", CONNECTIONS)
    given = ("--rate", options.times * peak["rate"], "--deadline-ms", DEADLINE_MS, *more)
    found = beside(catalog, company, seconds, "open_load", asked, *given, default_timeout_ms=DEADLINE_MS)
    return {**found, "capacity": peak["rate"], "of_capacity": found["goodput"] / peak["rate"], "peak": peak}


def together(rounds):
    """Combine the rounds of one case: medians, and how often each refusal came in all."""
    counts = Counter()
    for each in rounds:
        counts.update(each["other"])
    names = ("offered", "answered", "in_time", "late", "lost", "goodput", "capacity", "of_capacity", "server")
    found = {name: median(each[name] for each in rounds) for name in (*names, "processors")}
    for name in ("p50_ms", "p99_ms", "refused_p99_ms"):
        seen = [each[name] for each in rounds if each[name] is not None]
        found[name] = median(seen) if seen else None
    share = median(each["in_time"] / max(each["answered"], 1) for each in rounds)
    return {
        **found,
        "share_in_time": share,
        "other": dict(counts),
        "rounds": len(rounds),
        "company": rounds[-1]["company"],
    }


def picture(kind, size, **options):
    """The bytes of a picture in base64."""
    from PIL import Image  # an extra

    file = BytesIO()
    x = np.arange(size[0] * size[1], dtype=np.uint32) if kind == "JPEG" else None
    made = Image.new("1", size, 1) if x is None else Image.fromarray((x.reshape(size) % 251).astype(np.uint8))
    made.save(file, kind, **options)
    return base64.b64encode(file.getvalue()).decode()


def make(folder, targets, stack):
    """Build the collections, and write what is asked; what is asked -> its path, and the file of its bodies.

    The endpoint that encodes pictures runs until `stack` ends.
    """
    tests_support()
    from support.photos import built_photos

    catalog = folder / "catalog"
    if not (catalog / "photos").exists():
        stack.enter_context(built_photos(folder))
    if not (catalog / KIND).exists():
        build(catalog, targets, KIND)
    rng = np.random.default_rng(0)
    queries = [{"vector": row.tolist()} for row in vectors(QUERIES, 6, lean=2)]
    lists = [
        [{"ids": rng.choice(4 * HITS, HITS, replace=False).tolist(), "scores": rng.random(HITS).tolist()}] * LISTS
        for _ in range(QUERIES)
    ]
    bomb, plain = picture("PNG", (SIDE, SIDE)), picture("JPEG", (1600, 1200))
    bodies = {
        "queries": (PATH.format(KIND), queries),
        "queries that name their time": (PATH.format(KIND), [{**each, "timeout_ms": DEADLINE_MS} for each in queries]),
        "pictures": (PATH.format("photos"), [{"image": bomb}, {"image": plain}]),
        "rerank": (RERANK, [{"lists": each} for each in lists]),
    }
    asked = {}
    for number, (name, (path, sent)) in enumerate(bodies.items()):
        file = folder / f"bodies-{number}.json"
        file.write_text(json.dumps(sent))
        asked[name] = (path, str(file))
    return catalog, asked


def tables(result):
    columns = (
        "asked",
        "capacity/s",
        "offered",
        "answered",
        "in time",
        "in time / capacity",
        "refused",
        "p99 ms",
        "of refusals",
    )
    rows = []
    for case, run in result["cases"].items():
        every = run["offered"] * run["rounds"]
        refused = ", ".join(f"{code} {count / every:.0%}" for code, count in sorted(run["other"].items()))
        rows.append(
            [
                case,
                f"{run['capacity']:,.0f}",
                f"{run['offered'] / result['seconds'] / run['capacity']:.1f} ×",
                f"{run['answered'] / run['offered']:.0%}",
                f"{run['share_in_time']:.3f}",
                f"{run['of_capacity']:.2f}",
                refused,
                "" if run["p99_ms"] is None else f"{run['p99_ms']:,.0f}",
                "" if run["refused_p99_ms"] is None else f"{run['refused_p99_ms']:,.0f}",
            ]
        )
    return [[columns, *rows]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalog", type=Path, help="a folder where the collections are, or are to be built")
    parser.add_argument("--targets", type=int, default=100_000)
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--times", type=float, default=TIMES, help="the capacity")
    parser.add_argument("--keep", action="store_true", help="in docs/performance, too")
    options = parser.parse_args()
    measured = {}
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        folder = options.catalog or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        catalog, asked = make(folder, options.targets, stack)
        for case in options.case:
            given = [asked.get(name, name) for name in CASES[case]]
            rounds = [one_round(catalog, options, *given) for _ in range(options.rounds)]
            measured[case] = together(rounds)
            print(case, json.dumps(rounds), flush=True)
    written = harness.write("overload", {"seconds": options.seconds, "cases": measured}, None, PACKAGES, tables)
    if options.keep:
        shutil.copy(written, KEPT)


if __name__ == "__main__":
    main()
