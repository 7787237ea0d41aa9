"""A version takes over under load: `python -m benchmarks.swap [--catalog DIR]`.

Another version of a large collection (1,000,000 targets, `fastscan`) and of a small one (1,000, `flat`) becomes current
while both are asked at a fixed rate. `swap` is the time until its first answer.
"""

import argparse
import asyncio
import multiprocessing
import os
import shutil
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import perf_counter, sleep

import httpx
import numpy as np
import orjson
import uvloop

import hubless
from benchmarks import harness
from benchmarks.http_goals import DIM, QUERIES, build
from benchmarks.http_service import PACKAGES, PATH, hubless_service
from benchmarks.load import BINARY, request_of
from benchmarks.open_load import offer
from hubless.builder.shards import segment_name
from hubless.store.bundle import FITS, MANIFEST, SEGMENTS, read_manifest, segment_path

LARGE, SMALL = "large", "small"
SIDES = {"in memory": True, "not in memory": False}
"""Whether the files of the new version are in the system's memory."""
PHASES = ("before", "during", "after")
SECONDS, LATER, POLL, MOST = 3.0, 0.5, 0.02, 60.0
COLUMNS = ("files of the new version", "asked", "swap s", *(f"{phase}: p50, p99 ms" for phase in PHASES))


def two_versions(source, catalog, name):
    """Make a collection of two equal versions out of one: files of their own, the older one current."""
    if name in hubless.Catalog(catalog).collections():
        return
    (from_name,) = hubless.Catalog(source).collections()
    folder = hubless.Catalog(source).folder(from_name)
    target = hubless.Catalog(catalog)
    manifest = read_manifest(folder).model_copy(update={"collection": name})
    for _ in range(2):
        with target.staging(name) as staging:
            for path in folder.iterdir():
                if path.name != MANIFEST:
                    shutil.copyfile(path, staging.folder / path.name)
            named = {"version": staging.version, "fit": staging.version, "built": staging.version}
            shutil.copytree(
                folder.parents[1] / FITS / manifest.fit, staging.made(FITS, staging.version), dirs_exist_ok=True
            )
            records = [
                each.model_copy(update={"name": segment_name(staging.version, number)})
                for number, each in enumerate(manifest.segments)
            ]
            for record, each in zip(records, manifest.segments, strict=True):
                place = staging.made(SEGMENTS, record.name)
                shutil.copytree(segment_path(folder, each.name), place, dirs_exist_ok=True)
            staging.publish(manifest.model_copy(update={**named, "segments": records, "files": {}}))
    target.rollback(name)


def ask(urls, rates, seconds):
    """Ask all collections for a while; (due, answered, version) of each answer, which are all to be good."""
    rows = harness.low_rank(QUERIES, DIM, 2, harness.LEAN)

    async def ask_all():
        requests = [[request_of(url, row.astype("<f4").tobytes(), BINARY) for row in rows] for url in urls]
        offers = zip(urls, requests, rates, strict=True)
        return await asyncio.gather(*(offer(url, given, rate, seconds) for url, given, rate in offers))

    answers = []
    for seen, count, _, _ in uvloop.run(ask_all()):
        statuses = {status: len(each) for status, each in seen.items()}
        assert statuses == {"200": count}, f"of {count} requests: {statuses}"
        answers.append([(due, answered, orjson.loads(body)["version"]) for due, answered, body in seen["200"]])
    return answers


def change(catalog, name, *, cached):
    """Make the version current that is not; what it is, and when that was."""
    store = hubless.Catalog(catalog)
    (other,) = set(store.version_ids(name)) - {store.current(name)}
    folder = store.folder(name, other)
    for each in read_manifest(folder).segments:
        harness.read_or_forget(segment_path(folder, each.name), cached=cached)
    moment = perf_counter()
    store.rollback(name, other)
    return other, moment


def served(side, version):
    """Wait until the version answers."""
    ends = perf_counter() + MOST
    url = side.url.removesuffix("/query")
    while httpx.get(url).json()["version"] != version:
        assert perf_counter() < ends, "the version is not served"
        sleep(0.05)


def one_side(catalog, cached, options):
    """Swap some times under load; what was asked, and the moments."""
    names = (LARGE, SMALL)
    with hubless_service(catalog, LARGE, poll_seconds=POLL) as side, worker() as pool:
        urls = [side.url.replace(PATH.format(LARGE), PATH.format(name)) for name in names]
        # more than enough: what is asked after the last round is left out
        seconds = options.rounds * (options.each + 4 * SECONDS)
        asking = pool.submit(ask, urls, options.rates, seconds)
        sleep(2 * SECONDS)
        moments = []
        for _ in range(options.rounds):
            alone = change(catalog, SMALL, cached=True)
            sleep(SECONDS)
            large = change(catalog, LARGE, cached=cached)
            sleep(LATER)
            small = change(catalog, SMALL, cached=True)
            served(side._replace(url=urls[0]), large[0])
            sleep(SECONDS)
            moments.append({LARGE: large, SMALL: small, "alone": alone})
        answers = dict(zip(names, asking.result(), strict=True))
    return answers, moments


def worker():
    """A process for the load."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


def first_of(answers, version, moment):
    """When the first answer of a version came after a moment, and what it took, in seconds."""
    due, answered = min(((due, end) for due, end, by in answers if by == version and end > moment), key=lambda a: a[1])
    return answered, answered - due


def figures(answers, moments):
    """One line for each collection: latencies by phase, and how long the swaps took."""
    lines = []
    for name in (LARGE, SMALL):
        phases = {phase: [] for phase in PHASES}
        swaps = []
        firsts = []
        alone = []  # alone: (swap, first)
        for each in moments:
            version, moment = each[LARGE]
            done, _ = first_of(answers[LARGE], version, moment)
            bounds = (moment - SECONDS + 1, moment, done, done + SECONDS)
            for phase, begin, end in zip(PHASES, bounds, bounds[1:], strict=False):
                phases[phase] += [late - due for due, late, _ in answers[name] if begin <= due < end]
            found, first = first_of(answers[name], *each[name])
            swaps.append(found - each[name][1])
            firsts.append(1e3 * first)
            if name == SMALL:
                found, first = first_of(answers[name], *each["alone"])
                alone.append((found - each["alone"][1], 1e3 * first))
        line = {phase: spread(phases[phase]) for phase in PHASES}
        line |= {"name": name, "swap": float(np.median(swaps)), "first": float(np.median(firsts))}
        line |= {"firsts": firsts, "alone": np.median(alone, axis=0).tolist() if alone else None}
        lines.append(line)
    return lines


def spread(seconds):
    """p50, p99 and the worst, in milliseconds."""
    return [float(each) for each in np.percentile(1e3 * np.array(seconds), (50, 99, 100))]


def tables(result):
    rows = []
    for side, lines in result["sides"].items():
        for line in lines:
            phases = [", ".join(f"{each:.1f}" for each in line[phase][:2]) for phase in PHASES]
            rows.append([side, line["name"], f"{line['swap']:.2f}", *phases])
    return [[COLUMNS, *rows]]


def plot(result, figure):
    """Draw p99 before, during and after."""
    axes = figure.subplots()
    for side, lines in result["sides"].items():
        for line in lines:
            axes.plot(PHASES, [line[phase][1] for phase in PHASES], marker="o", label=f"{line['name']}: {side}")
    axes.set(ylabel="p99 in ms", ylim=(0, None))
    axes.legend(fontsize=7)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalog", type=Path, help="where the collections are, or are to be built")
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--each", type=float, default=14, help="seconds that a swap may take")
    parser.add_argument("--rates", type=float, nargs=2, default=(40, 100), help="queries a second of each")
    parser.add_argument("--small", type=int, default=1000, metavar="TARGETS")
    parser.add_argument("--large", type=int, default=1_000_000, metavar="TARGETS")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        built = options.catalog or Path(temporary)
        catalog = built / f"swap-{options.large}"
        catalog.mkdir(parents=True, exist_ok=True)
        two_versions(build(built, "fastscan", options.large)[0], catalog, LARGE)
        two_versions(build(built, "flat", options.small)[0], catalog, SMALL)
        os.sync()  # what is not on the disk yet stays in memory
        sides = harness.earlier("swap", "sides")
        for side in options.sides:
            answers, moments = one_side(catalog, SIDES[side], options)
            sides[side] = figures(answers, moments)
    sides = {side: sides[side] for side in SIDES if side in sides}
    measured = {"large": options.large, "rates": options.rates, "rounds": options.rounds, "sides": sides}
    harness.write("swap", measured, plot, PACKAGES, tables)


if __name__ == "__main__":
    main()
