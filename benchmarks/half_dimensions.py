"""Half of the dimensions beside all: `python -m benchmarks.half_dimensions [--targets 100000] [--folder F ...]`.

The share of the memory, and how many times as fast. Each is tuned for a recall@10 of 0.99 of its own exact ranking;
`exact` compares with every stored vector.
"""

import argparse
import tempfile
from pathlib import Path
from time import thread_time

import hubless
from benchmarks import harness
from benchmarks.index_recipes import BANK, DIM, QUERIES, open_folder
from hubless.kernels.threads import one_blas_thread
from hubless.knn.exhaustive import openmp_threads

SINGLES, BATCH = 100, 32
COLUMNS = ("targets", "index", "MB", "single", "batch of 32", "exact, 32")
SPEEDS = {"single": 1.2, "batch": 1.8, "exact": 1.8}
"""What the goals are: so many times as fast."""


def built(folder, name, targets, bank, **options):
    """Return a collection, and what its build tells."""
    started = thread_time()
    with openmp_threads(1):
        manifest = hubless.build(folder, name, targets, bank, progress=False, **options)
    size = sum(file.size for file_name, file in manifest.files.items() if file_name.startswith("index"))
    told = {"index": manifest.index.type, "mb": size / 1e6, "build_s": thread_time() - started}
    return hubless.open(folder, name), {**told, "recall": manifest.measured.recall_at_10}


def measured(name, data, repeats):
    """Return the figures of both sides."""
    targets, bank, queries = data
    lines, sides, (count, dim) = [], {}, targets.shape
    with tempfile.TemporaryDirectory() as folder, openmp_threads(1), one_blas_thread:
        for dims in (None, dim // 2):
            opened, told = built(folder, f"d{dims}", targets, bank, dims=dims)
            lines.append({"data": name, "targets": count, "dims": dims or dim, **told})
            sides[dims or dim] = opened

        def timed(work):
            times = harness.interleaved({d: (lambda d=d: work(sides[d])) for d in sides}, repeats, thread_time)
            return {d: 1e3 * min(values) for d, values in times.items()}

        singles = timed(lambda side: [side.query(queries[i]) for i in range(SINGLES)])
        starts = range(0, min(len(queries), 10 * BATCH), BATCH)
        batches = timed(lambda side: [side.query(queries[start : start + BATCH]) for start in starts])
        exact = timed(lambda side: side.query(queries[:BATCH], parameters={"exact": True}))
        for line in lines:
            d = line["dims"]
            line.update(single=singles[d] / SINGLES, batch=batches[d] / len(starts), exact=exact[d])
    return lines


def ratios(line, whole):
    """Memory as a share, and how many times as fast."""
    return {"mb": line["mb"] / whole["mb"], **{name: whole[name] / line[name] for name in SPEEDS}}


def pairs(result):
    lines = iter(result["lines"])
    return zip(lines, lines, strict=True)


def tables(result):
    rows = []
    for whole, half in pairs(result):
        found = ratios(half, whole)
        size = f"{whole['data']}, {whole['targets']:,} × {whole['dims']}"
        rows.append([size, whole["index"], f"{found['mb']:.2f}", *(f"{found[name]:.2f}" for name in SPEEDS)])
    return [[COLUMNS, *rows]]


def plot(result, figure):
    """Draw how many times as fast half of the dimensions are."""
    axes = figure.subplots()
    for whole, half in pairs(result):
        found = ratios(half, whole)
        axes.plot(list(SPEEDS), [found[name] for name in SPEEDS], "o", label=f"{half['data']}, {half['targets']:,}")
    axes.set(ylabel="times as fast", ylim=(0, None))
    axes.legend(fontsize=7)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, nargs="*", default=[100_000])
    parser.add_argument("--folder", type=Path, nargs="*", default=[])
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    lines = []
    for count in given.targets:
        lines += measured("low rank", harness.with_hubs(count, BANK, QUERIES, DIM), given.repeats)
    for folder in given.folder:
        lines += measured(folder.resolve().name, open_folder(folder), given.repeats)
    harness.write("half_dimensions", {"lines": lines}, plot, tables=tables)


if __name__ == "__main__":
    main()
