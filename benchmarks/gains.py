"""The figures of README.md: `python -m benchmarks.gains [--demo] [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`. All sets follow the strict protocol (lab/docs/lab.md), so that they can be
compared. Banks have 100, 300, 1,000 queries and all that there are, each drawn anew for every split. `--demo` runs what
the demo measures. All that is measured is kept in `docs/images/gains.json`. From there come the figures of the README
(`python -m benchmarks.figures`), and both pictures in `docs/images`.
"""

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real_sets import SIZES, Set, hits, open_set, trial
from hubless import measures
from hubless.kernels.reductions import top_k
from hubless.vectors.sources import ArrayVectors
from hubless_demo.measuring import Ranking, encode_known, rank, trial_of
from hubless_demo.story import Findings, learn_and_measure
from hubless_lab.charts import ACCENT, INK, RAW, Axis, bent
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.tally import RECALLS
from hubless_lab.marked_charts import MarkedChart
from hubless_lab.occurrence_plots import occurrence_chart

ENTRIES = {
    "csls": Method("csls"),
    "nnn, k=16": Method("nnn", {"k": 16}),
    "is, τ=0.02": Method("is", {"temperature": 0.02}),
    "auto": Method("auto"),
}
NAMES = {
    "quran_en_zh_e5small": "English → Chinese verses,\nmultilingual-e5-small",
    "flickr30k_clip_l14": "Flickr30k captions → photos,\nCLIP ViT-L/14",
    "pystdlib_doc2code_minilm": "docstrings → Python source,\nMiniLM",
    "fashion_marqo_clip": "product titles → photos,\nmarqo-fashionCLIP",
    "bli_en_ja_wordvec": "English → Japanese words,\nword vectors",
    "flickr8k_clip_b32_chia": "Flickr8k, five captions a photo,\nCLIP ViT-B/32",
    "digits_noise_8x8": "digits with noise → digits, pixels",
    "qa_interview_minilm": "interview questions → answers, MiniLM",
    "flickr8k_caption_minilm": "captions → other captions, MiniLM",
    "govuk_minilm": "GOV.UK, MiniLM",
    "clinc_minilm": "CLINC150 questions → intents, MiniLM",
    "emoji_keywords_minilm8": "keywords → emoji, MiniLM",
    "movielens_user_film_als64": "MovieLens users → films, ALS",
}
SEEDS = 10
NOISE = 0.5
"""Points. A smaller change counts as none."""
IMAGES = Path(__file__).parents[1] / "docs" / "images"
KEPT = IMAGES / "gains.json"
BAR = "#B3D5E8"


def measure(data: Set) -> dict[str, Any]:
    """Of a set: raw R@1, skewness of N_10, and each single change by each correction, in points."""
    runs = []
    for size in SIZES:
        for seed in range(SEEDS):
            given = trial(replace(data, bank=None), size, seed)
            if given is None:
                break
            found = hits(given, [Method("none"), *ENTRIES.values()])
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


def tuned(sets: Sequence[Mapping[str, Any]]) -> str:
    """Of each set: choose the best method by the labels of one split, and compare it with `auto` on the next."""
    found = []
    for runs in map(whole, sets):
        names = list(runs[0]["changes"])
        chosen = [max(names, key=run["changes"].__getitem__) for run in runs]
        others = [*runs[1:], runs[0]]
        found.append(
            np.mean([o["changes"][name] - o["changes"]["auto"] for name, o in zip(chosen, others, strict=True)])
        )
    span = f"{signed(min(found))} to {signed(max(found))} on single sets"
    return f"{signed(float(np.mean(found)))} points on average, {span}"


def signed(value: float, digits: int = 1) -> str:
    """A change, with a sign as wide as a plus."""
    return f"{value:+.{digits}f}".replace("-", "−")


def markdown(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The table of the README."""
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


def draw(sets: Sequence[Mapping[str, Any]], path: Path) -> None:
    """A line a set: the range of single builds with `auto`, its mean with all of the bank, and the other methods."""
    names = {float(place): NAMES.get(found["set"], found["set"]) for place, found in enumerate(sets[::-1])}
    ticks = {tick: signed(tick, 0) if tick else "0" for tick in (-5, -2, 0, 2, 5, 10, 20, 40)}
    label = "change of R@1 against raw, in points; bars: every single build with auto"
    x = Axis(label, -8.5, 48, ticks, bent(5, 1.2), grid=True)
    chart = MarkedChart(x, Axis("", -0.6, len(sets) - 0.3, names), (800, 62 * len(sets) + 60))
    chart.line([0, 0], [chart.y.low, chart.y.high], INK, width=1.5)
    for place, found in enumerate(sets[::-1]):
        every = changes(found)
        chart.line([min(every), max(every)], [place, place], BAR, width=11)
        for label, mark in zip([label for label in ENTRIES if label != "auto"], ("^", "s", "D"), strict=True):
            chart.point(mean(found, label), place, RAW, mark, name="" if place else label)
        chart.point(mean(found, "auto"), place, ACCENT, name="" if place else "auto")
        chart.text(mean(found, "auto"), place, signed(mean(found, "auto")), ACCENT, up=11)
    chart.save(path)


def reach(sets: Sequence[Mapping[str, Any]]) -> str:
    """The mean gains with all of the bank, from the smallest to the largest."""
    means = [mean(found, "auto") for found in sets]
    return f"{min(means):.1f} to {max(means):.0f}"


def measure_demo() -> dict[str, Any]:
    """Of the demo: how many functions, R@k in percent, and how often each function is found, the most found first."""
    found = learn_and_measure(None, 0)
    rankings = {
        ranking.name: {
            "recall": {str(k): round(100 * ranking.quality[f"recall_at_{k}"], 1) for k in RECALLS},
            "skewness": round(ranking.quality["skewness"], 2),
            "occurrence": sorted(map(round, ranking.occurrence.tolist()), reverse=True),
        }
        for ranking in found.rankings
    }
    by_names = round(recall_by_names(found), 1)
    return {"library": found.library.name, "functions": len(found.pairs), "rankings": rankings, "by_names": by_names}


def recall_by_names(found: Findings) -> float:
    """R@1 in per cent with a bank of what the functions are called, as a payload has it on the first day."""
    pairs = found.parts.held_out
    encoders = found.encoders
    bank, _ = encode_known(encoders, [replace(pair, doc=re.sub(r"[._]+", " ", pair.name)) for pair in pairs])
    return 100 * rank(trial_of(encoders, pairs, bank), Method("auto")).quality["recall_at_1"]


def sentences(demo: Mapping[str, Any]) -> str:
    """Return the sentences of the README on the demo."""
    raw = demo["rankings"]["raw"]
    auto = demo["rankings"]["auto"]
    found = raw["occurrence"]
    return (
        f"The demo searches Python's standard library in plain English. Raw, one function is among the first ten for "
        f"{found[0]:,} of {len(found):,} questions, and {found.count(0):,} functions are never found. "
        f"Corrected, the right function comes first for {auto['recall']['1']:.1f} % of the questions instead of "
        f"{raw['recall']['1']:.1f} %."
    )


def draw_demo(demo: Mapping[str, Any], path: Path) -> None:
    """The picture of the demo, as the demo draws it."""
    raw, auto = (Ranking(name, {}, np.array(demo["rankings"][name]["occurrence"])) for name in ("raw", "auto"))
    occurrence_chart({"raw": raw.occurrence, "with auto": auto.occurrence}).save(path)


def main() -> None:
    """Measure what is asked for, and take what was kept of the rest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--demo", action="store_true")
    given = parser.parse_args()
    kept = json.loads(KEPT.read_text())
    demo = measure_demo() if given.demo else kept["demo"]
    sets = [measure(open_set(folder)) for folder in given.folders] or kept["sets"]
    lines = ",\n".join(json.dumps(found, ensure_ascii=False) for found in sets)
    KEPT.write_text(f'{{"demo": {json.dumps(demo)},\n"sets": [\n{lines}\n]}}\n')
    sets = sorted(sets, key=lambda found: -mean(found, "auto"))
    print(
        sentences(demo),
        f"From {reach(sets)} points of R@1",
        *markdown(sets),
        f"tuned: {tuned(sets)}",
        sep="\n",
    )
    draw(sets, IMAGES / "gains.svg")
    draw_demo(demo, IMAGES / "k-occurrence.svg")


if __name__ == "__main__":
    main()
