"""Hubness among targets alone: each is asked, and left out of its own answer. It does not tell what queries find."""

from dataclasses import dataclass, field

import numpy as np

from hubless import measures
from hubless.diagnosing.diagnosis import DEPTHS, MAIN, Shape, Uneven, level_of
from hubless.diagnosing.gallery import Gallery, NamedTarget
from hubless.diagnosing.near_duplicates import Likeness
from hubless.diagnosing.symptoms import Symptom, find_symptoms_of_targets
from hubless.diagnosing.table import TextTable
from hubless.errors import InputError
from hubless.kernels.connected import connected
from hubless.kernels.reductions import top_k
from hubless.measures.chance import Chance
from hubless.measures.occurrence import most_found
from hubless.progress import Progressing, progress_bars
from hubless.search.pages import render
from hubless.search.ranker import all_but
from hubless.vectors.arrays import I64
from hubless.vectors.comparing import comparison
from hubless.vectors.sources import VectorSource

MOST_ASKED = 10_000
"""Of more targets so many are drawn and ask, among all."""
ASKED_AT_ONCE = 512
_FEWEST = 3


@dataclass(frozen=True)
class CorpusDepth:
    """N_k over targets that ask, and by chance."""

    k: int
    raw: Shape
    chance: Chance


@dataclass(frozen=True)
class FoundTarget:
    """A target, and how many other targets have it among their first 10."""

    target: NamedTarget
    count: int


@dataclass(frozen=True, kw_only=True)
class Corpus(Uneven):
    """Measures of how evenly targets find each other, near-duplicates, and what nobody finds. It promises no gain."""

    sides = ("targets",)
    targets: int
    dim: int
    metric: str
    asked: int
    """Targets that were asked for their nearest others; all, but of very many."""
    depths: list[CorpusDepth]
    level: str
    hubs: list[FoundTarget]
    never: list[NamedTarget]
    repeated: int
    """Targets that ask and have a near-duplicate, a cosine of 0.98 or more, or as near by distance."""
    near_duplicates: list[list[NamedTarget]]
    """The largest groups of near-duplicates."""
    symptoms: list[Symptom]
    verdict: list[str]
    occurrences: I64 = field(repr=False)
    """N_10 (n,)."""

    @property
    def caption(self) -> str:
        return f"{self.asked:,} of {self.targets:,} targets ask"

    def __repr__(self) -> str:
        return f"<Corpus of {self.targets:,} targets, hubness among them: {self.level}>"

    def _repr_html_(self) -> str:
        lines = [[str(hub.target.id), f"{hub.count:,}"] for hub in self.hubs]
        hubs = TextTable(["id", "found"], lines, "Found most by other targets")
        return render("notebook.html", sentences=self.verdict, tables=[self.uneven(whole=False), hubs], notes=[])


def examine_corpus(gallery: Gallery, top: int, seed: int = 0, progress: Progressing = None) -> Corpus:
    """Measure how targets find each other. Raises `InputError` for fewer than 3 targets."""
    targets = gallery.targets
    count = targets.shape[0]
    dim = gallery.dim
    if count < _FEWEST:
        raise InputError("targets", f"at least {_FEWEST}, to find each other", count)
    asking = np.sort(np.random.default_rng(seed).permutation(count)[:MOST_ASKED])
    k = min(max(DEPTHS), count - 1)
    with progress_bars(progress) as steps:
        advance = steps.step("asking targets for their nearest", len(asking))
        found = []
        for start in range(0, len(asking), ASKED_AT_ONCE):
            rows = asking[start : start + ASKED_AT_ONCE]
            found.append(_others(rows, targets, k, gallery.metric))
            advance(len(rows))
    nearest = np.concatenate(found)
    counts = {depth: measures.k_occurrence(nearest[:, :depth], count) for depth in DEPTHS if depth <= k}
    depths = [CorpusDepth(depth, Shape.of(N), Chance.of(len(asking), count, depth)) for depth, N in counts.items()]
    main = depths[MAIN][-1]
    occurrence = counts[main.k]
    groups, repeated = _near_duplicates(asking, nearest[:, 0], targets, gallery.metric)
    symptoms = find_symptoms_of_targets(targets, gallery.metric, occurrence, seed)
    level = level_of(main.raw, main.chance)
    verdict = render(
        "corpus.txt", symptoms=symptoms, level=level, depth=main, asked=len(asking), targets=count, repeated=repeated
    )
    return Corpus(
        targets=count,
        dim=dim,
        metric=gallery.metric,
        asked=len(asking),
        depths=depths,
        level=level,
        hubs=[
            FoundTarget(named, int(occurrence[named.row]))
            for named in gallery.describe(most_found(occurrence, top).tolist())
        ],
        never=gallery.describe(np.flatnonzero(occurrence == 0)[:top].tolist()),
        repeated=repeated,
        near_duplicates=[gallery.describe(group.tolist()) for group in groups[:top]],
        symptoms=symptoms,
        verdict=verdict.splitlines(),
        occurrences=occurrence,
    )


def _others(rows: I64, targets: VectorSource, k: int, metric: str) -> I64:
    """Return the k targets that are nearest to each of some targets (m,), without itself: (m, k)."""
    _, found = top_k(comparison(metric).turned(targets.take(rows)), targets, k + 1)
    rest: I64 = found[all_but(rows, found)].reshape(-1, k)
    return rest


def _near_duplicates(asking: I64, nearest: I64, targets: VectorSource, metric: str) -> tuple[list[I64], int]:
    """Return groups of near-duplicates, the largest first, and how many of the targets that ask are in one."""
    alike = np.zeros(len(asking), bool)
    likeness = Likeness.among(targets, metric)
    for start in range(0, len(asking), ASKED_AT_ONCE):
        here = slice(start, start + ASKED_AT_ONCE)
        pair = likeness.asking(targets.take(asking[here])), likeness.asked(targets.take(nearest[here]))
        alike[here] = np.einsum("ij,ij->i", *pair) >= likeness.of_copies
    group_of = connected(asking[alike], nearest[alike], targets.shape[0])
    members = np.unique(np.concatenate([asking[alike], nearest[alike]]))
    by_group = members[np.argsort(group_of[members], kind="stable")]
    groups = np.split(by_group, np.flatnonzero(np.diff(group_of[by_group])) + 1) if len(by_group) else []
    return sorted(groups, key=len, reverse=True), int(alike.sum())
