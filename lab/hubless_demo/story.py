"""The demo from beginning to end: read, measure, build, ask, serve."""

import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from rich.console import Console
from rich.table import Column, Table

from hubless import Catalog, Collection, Hit, Manifest, build, open
from hubless.progress import progress_bars
from hubless_demo.measuring import CORRECTED, K, Ranking, Split, encode_known, rank_by_all, split_pairs
from hubless_demo.pairs import Library, Pair, find_pairs, installed_package, standard_library
from hubless_demo.word_vectors import Encoders, learn
from hubless_lab.experiments.tally import RECALLS
from hubless_lab.occurrence_plots import occurrence_chart

QUESTIONS = ("Copy a file", "Make a random number", "Send an email")
HITS = 3
WORST_HUBS = 5
KEPT_VERSIONS = 2
SEED = 0
PICTURE = "k-occurrence.svg"
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Findings:
    """Pairs, encoders and measurements, before anything is built."""

    library: Library
    pairs: list[Pair]
    parts: Split
    encoders: Encoders
    rankings: list[Ranking]


def tell(package: str | None, catalog: Path, as_json: bool) -> str:
    """Run the demo without its server. Return the name of the collection."""
    console = Console(quiet=as_json)
    findings = learn_and_measure(package, SEED)
    show_measures(console, findings)
    raw, corrected = findings.rankings[0], findings.rankings[-1]
    collection = collection_name(package)
    manifest = build_demo(catalog, collection, findings, SEED)
    picture = catalog / PICTURE
    occurrence_chart({"raw": raw.occurrence, f"with {corrected.name}": corrected.occurrence}).save(picture)
    say(
        console,
        f"\nThe picture is {picture}, the index of all {manifest.count:,} functions {catalog / collection}. Raw ranks "
        "by similarity, corrected by similarity − offset. A positive offset marks a hub.",
    )
    questions = QUESTIONS if package is None else documented_questions(findings)
    opened = open(catalog, collection)
    answers = [ask_both(opened, question) for question in questions]
    for answer in answers:
        show_answers(console, answer)
    if as_json:
        said = in_figures(findings) | {"collection": collection, "picture": str(picture)}
        Console(soft_wrap=True).print_json(data=said | {"answers": answers})
    return collection


def learn_and_measure(package: str | None, seed: int) -> Findings:
    """Read and measure. The encoders never see the held-out pairs."""
    library = standard_library() if package is None else installed_package(package)
    with progress_bars() as steps:
        pairs = find_pairs(library, steps.step(f"reading {library.name}", len(library.files)))
        parts = split_pairs(pairs, seed)
        encoders = learn(parts.known)
        advance = steps.step(f"measuring with {len(parts.held_out):,} other pairs", 1 + len(CORRECTED))
        return Findings(library, pairs, parts, encoders, rank_by_all(encoders, parts, advance))


def build_demo(catalog: Path, collection: str, findings: Findings, seed: int) -> Manifest:
    """Index all functions. All documentation is the bank, so that every function is treated alike."""
    query_bank, _ = encode_known(findings.encoders, findings.pairs)
    manifest = build(
        catalog,
        collection,
        findings.encoders.code.encode(findings.pairs),
        query_bank,
        ids=unique_names(findings.pairs),
        payload=[{field: value for field, value in asdict(pair).items() if field != "code"} for pair in findings.pairs],
        encoder=findings.encoders.text,
        seed=seed,
    )
    Catalog(catalog).prune(collection, KEPT_VERSIONS)
    return manifest


def unique_names(pairs: Sequence[Pair]) -> list[str]:
    """Return a unique name for each function. A name that is defined again gets its line number added."""
    names: dict[str, None] = {}
    for pair in pairs:
        names[pair.name if pair.name not in names else f"{pair.name}:{pair.line}"] = None
    return list(names)


def collection_name(package: str | None) -> str:
    """Return a name for a collection that works in a URL."""
    return "stdlib" if package is None else re.sub(r"[^A-Za-z0-9-]+", "-", package).strip("-")[:64] or "package"


def documented_questions(findings: Findings) -> list[str]:
    """Return questions about a package: held-out documentation."""
    _, rows = encode_known(findings.encoders, findings.parts.held_out)
    return [findings.parts.held_out[row].doc for row in rows[: len(QUESTIONS)]]


def show_measures(console: Console, findings: Findings) -> None:
    """Print the table of rankings, the gain in a sentence, and the worst hubs."""
    parts = findings.parts
    rankings = findings.rankings
    say(
        console,
        f"{findings.library.name} has {len(findings.pairs):,} documented functions. Two encoders, one for text and one "
        f"for code, sum vectors of words. {len(parts.known):,} functions are query bank and target bank. "
        f"The test searches for each of the other {len(parts.held_out):,} functions by its documentation.\n",
    )
    headings = (*(f"R@{k} %" for k in RECALLS), f"skewness N_{K}", f"largest N_{K}", "never found")
    table = Table("", *(Column(heading, justify="right") for heading in headings))
    for ranking in rankings:
        measured = ranking.quality
        recalls = (f"{100 * measured[f'recall_at_{k}']:.1f}" for k in RECALLS)
        never = np.count_nonzero(ranking.occurrence == 0)
        table.add_row(ranking.name, *recalls, f"{measured['skewness']:.2f}", f"{measured['most']:.0f}", str(never))
    console.print(table)
    raw = rankings[0]
    best = rankings[-1]
    before, after = (100 * each.quality["recall_at_1"] for each in (raw, best))
    say(
        console,
        f"The right function comes first for {after:.1f} % of the queries with {best.name}, "
        f"and for {before:.1f} % raw: {after - before:+.1f} points.\n",
    )
    show_hubs(console, raw, best, [pair.name for pair in parts.held_out])


def show_hubs(console: Console, raw: Ranking, corrected: Ranking, names: Sequence[str]) -> None:
    """Print the functions that are found most often, raw and corrected."""
    table = Table(f"times among the first {K}", *(Column(name, justify="right") for name in ("raw", corrected.name)))
    for ranking in (raw, corrected):
        for row in np.argsort(-ranking.occurrence, kind="stable")[:WORST_HUBS]:
            table.add_row(names[row], *(f"{each.occurrence[row]:.0f}" for each in (raw, corrected)))
        table.add_section()
    console.print(table)


def in_figures(findings: Findings) -> dict[str, Any]:
    """Return what was measured, as JSON."""
    shown = [*(f"recall_at_{k}" for k in RECALLS), "skewness", "most", "antihubs"]
    rankings = [{"name": each.name} | {name: each.quality[name] for name in shown} for each in findings.rankings]
    held_out = len(findings.parts.held_out)
    library = findings.library.name
    functions = len(findings.pairs)
    return {"library": library, "functions": functions, "held_out": held_out, "rankings": rankings}


def ask_both(collection: Collection, question: str) -> dict[str, Any]:
    """Return a question with its raw and its corrected hits."""
    both = collection.side_by_side(collection.encode([question]), limit=HITS)

    def shown(hits: list[Hit]) -> list[dict[str, Any]]:
        return [{"id": hit.id, "score": hit.score, "offset": hit.offset} for hit in hits]

    return {"question": question, "raw": shown(both.raw[0]), "corrected": shown(both.corrected[0])}


def show_answers(console: Console, answer: dict[str, Any]) -> None:
    """Print raw and corrected hits side by side."""
    table = Table(title=f"\n{answer['question']}", title_justify="left", title_style="bold")
    for heading in ("raw", "offset", "corrected", "offset"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "offset")
    for hits in zip(answer["raw"], answer["corrected"], strict=True):
        table.add_row(*(cell for hit in hits for cell in (str(hit["id"]), f"{hit['offset']:+.2f}")))
    console.print(table)


def serve_demo(catalog: Path, collection: str, port: int) -> NoReturn:
    """Print a request to try, and become the server."""
    url = f"http://{HOST}:{port}"
    body = json.dumps({"text": QUESTIONS[0], "limit": HITS, "with": ["payload"]})
    curl = f"curl -s {url}/v1/collections/{collection}/query -H 'Content-Type: application/json' -d {shlex.quote(body)}"
    # one line each, so that they can be copied
    sys.stderr.write(f"\nServing until Ctrl-C. Look at {url}/console/#/{collection}/search, or ask:\n\n{curl}\n\n")
    sys.stdout.flush()
    # the environment may have settings for another server
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HUBLESS_")}
    options = ["--catalog", str(catalog), "--host", HOST, "--port", str(port)]
    environment = kept | {"HUBLESS_LOG_LEVEL": "warning"}
    os.execve(sys.executable, [sys.executable, "-m", "hubless", "serve", *options], environment)  # noqa: S606


def say(console: Console, text: str, style: str | None = None) -> None:
    """Print a text as it is. A terminal wraps it, a file gets whole lines."""
    console.print(text, style=style, soft_wrap=not console.is_terminal, markup=False, highlight=False)
