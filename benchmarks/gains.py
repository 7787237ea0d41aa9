"""The gains of README.md, and their picture: `python -m benchmarks.gains FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`. All sets follow the strict protocol (docs/lab.md), so that they can be
compared. Banks have 100, 300, 1,000 queries and all that there are, each drawn anew for every split. Keeps each single
change of R@1 in `docs/images/gains.json`, prints the table of the README and how often `auto` gains and loses, and
draws `docs/images/gains.svg`. Without folders it only draws and prints what was kept.
"""

import argparse
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from benchmarks.real_sets import SIZES, Set, hits, open_set, trial
from hubless import measures
from hubless.kernels.reductions import top_k
from hubless.lab.entries import Entry
from hubless.vectors.sources import ArrayVectors

ENTRIES = {
    "csls": Entry("csls"),
    "nnn, k=16": Entry("nnn", {"k": 16}),
    "is, τ=.02": Entry("is", {"temperature": 0.02}),
    "auto": Entry("auto"),
}
NAMES = {
    "quran_en_zh_e5small": "English → Chinese verses,\nmultilingual-e5-small",
    "flickr30k_clip_l14": "Flickr30k captions → photos,\nCLIP ViT-L/14",
    "pystdlib_doc2code_minilm": "docstrings → Python source,\nMiniLM",
    "fashion_marqo_clip": "product titles → photos,\nmarqo-fashionCLIP",
    "bli_en_ja_wordvec": "English → Japanese words,\nword vectors",
    "flickr8k_clip_b32_chia": "Flickr8k, five captions a photo,\nCLIP ViT-B/32",
}
SEEDS = 10
NOISE = 0.5
"""Points. A smaller change counts as none."""
IMAGES = Path(__file__).parents[1] / "docs" / "images"
ACCENT, GREY, INK = "#0072B2", "#8A8A8A", "#222222"


def measure(data: Set) -> dict[str, Any]:
    """Of a set: raw R@1, skewness of N_10, and each single change by each correction, in points."""
    runs = []
    for size in SIZES:
        for seed in range(SEEDS):
            given = trial(replace(data, bank=None), size, seed)
            if given is None:
                break
            found = hits(given, [Entry("none"), *ENTRIES.values()])
            raw = 100 * float(found["none"].mean())
            changes = {
                label: round(100 * float(found[entry.label].mean()) - raw, 3)
                for label, entry in ENTRIES.items()
                if entry.label in found
            }
            run = {"bank": size or "all", "queries": len(given.query_bank), "raw": round(raw, 3), "changes": changes}
            if size is None:
                _, rows = top_k(given.queries, ArrayVectors(given.targets, "targets"), 10)
                run["skewness"] = round(measures.skewness(measures.k_occurrence(rows, len(given.targets))), 3)
            runs.append(run)
    return {"set": data.name, "runs": runs}


def whole(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The runs with all of the bank."""
    return [run for run in found["runs"] if run["bank"] == "all"]


def mean(found: Mapping[str, Any], label: str) -> float:
    """The mean change with all of the bank."""
    return float(np.mean([run["changes"][label] for run in whole(found)]))


def changes(found: Mapping[str, Any]) -> list[float]:
    """Every single change by `auto`."""
    return [run["changes"]["auto"] for run in found["runs"]]


def signed(value: float, digits: int = 1) -> str:
    """A change, with a sign as wide as a plus."""
    return f"{value:+.{digits}f}".replace("-", "−")


def markdown(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The table, and how often the gain is small."""
    others = [label for label in ENTRIES if label != "auto"]
    yield f"| embeddings | raw R@1 | skewness | {' | '.join(others)} | **auto** | single builds |"
    yield f"| --- | ---: | ---: | {'---: | ' * len(ENTRIES)}---: |"
    for found in sets:
        raw, skewness = (np.mean([run[name] for run in whole(found)]) for name in ("raw", "skewness"))
        cells = [signed(mean(found, label)) for label in others]
        single = f"{signed(min(changes(found)))} to {signed(max(changes(found)))}"
        name = NAMES.get(found["set"], found["set"]).replace("\n", " ")
        cells = [name, f"{raw:.1f}", f"{skewness:.1f}", *cells, f"**{signed(mean(found, 'auto'))}**", single]
        yield f"| {' | '.join(cells)} |"
    every = np.array([change for found in sets for change in changes(found)])
    yield ""
    yield (
        f"{len(every)} builds: gained {np.mean(every > NOISE):.0%}, "
        f"within {NOISE} points {np.mean(abs(every) <= NOISE):.0%}, "
        f"lost {np.mean(every < -NOISE):.0%}, at worst {every.min():+.1f}"
    )


def draw(sets: Sequence[Mapping[str, Any]], path: Path) -> None:
    """A line a set: the range of single builds with `auto`, its mean with all of the bank, and the other methods."""
    boxed = {"bbox": {"facecolor": "white", "edgecolor": "none", "pad": 1}}
    figure = Figure(figsize=(7.6, 0.62 * len(sets) + 1.2), layout="constrained")
    axes = figure.add_subplot()
    for place, found in enumerate(sets[::-1]):
        every = changes(found)
        axes.plot([min(every), max(every)], [place, place], color=ACCENT, alpha=0.3, linewidth=9, solid_capstyle="butt")
        for label, mark in zip([label for label in ENTRIES if label != "auto"], ("^", "s", "x"), strict=True):
            shown = {"label": label} if not place else {}
            axes.plot(mean(found, label), place, mark, color=GREY, markersize=6, **shown)
        shown = {"label": "auto"} if not place else {}
        axes.plot(mean(found, "auto"), place, "o", color=ACCENT, markersize=9, **shown)
        text = signed(mean(found, "auto"))
        axes.annotate(
            text, (mean(found, "auto"), place), (0, 9), textcoords="offset points", ha="center", color=ACCENT, **boxed
        )
    axes.axvline(0, color=INK, linewidth=1)
    axes.set_xscale("symlog", linthresh=5, linscale=1.2)
    axes.set_xticks(ticks := [-5, -2, 0, 2, 5, 10, 20, 40], ["0" if not tick else signed(tick, 0) for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlim(-8.5, 48)
    axes.set_ylim(-0.6, len(sets) - 0.3)
    axes.set_yticks(range(len(sets)), [NAMES.get(found["set"], found["set"]) for found in sets[::-1]])
    axes.set_xlabel("change of R@1 against raw, in points; bars: every single build with auto")
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside upper right", ncols=len(ENTRIES), frameon=False)
    written = io.StringIO()
    with rc_context({"svg.hashsalt": "gains"}):
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    path.write_text("\n".join(line.rstrip() for line in written.getvalue().splitlines()) + "\n")


def main() -> None:
    """Measure the folders, or take what was kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--output", type=Path, default=IMAGES / "gains.json")
    given = parser.parse_args()
    if given.folders:
        sets = [measure(open_set(folder)) for folder in given.folders]
        lines = ",\n".join(json.dumps(found, ensure_ascii=False) for found in sets)
        given.output.write_text(f"[\n{lines}\n]\n")
    sets = sorted(json.loads(given.output.read_text()), key=lambda found: -mean(found, "auto"))
    print("\n".join(markdown(sets)))
    draw(sets, given.output.with_suffix(".svg"))


if __name__ == "__main__":
    main()
