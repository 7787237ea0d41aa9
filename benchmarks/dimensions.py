"""Ranking quality with fewer dimensions: `python -m benchmarks.dimensions FOLDER [FOLDER ...]`.

Folders are those of `benchmarks.real_sets`, and all sets follow the strict protocol (lab/docs/lab.md). All vectors are
reduced by the basis that a build fits on the query bank and the target bank. `first half` keeps the first half of the
coordinates instead, as models do that are trained for it. The column `dims="auto"` is what a build chooses without
labels, by the banks; R@1 is that of other queries. `¼, keep_full` has a quarter in the index, and whole vectors rank.

Prints Markdown: the change of R@1 in points, mean of the sets / worst set. Everything is kept in
`docs/images/dimensions.json`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import hubless
from benchmarks.gains import IMAGES, signed
from benchmarks.real_sets import Set, hits, of_each, print_sets, trial
from hubless.builder.inputs.bases import fit_space
from hubless.builder.recipe import Recipe
from hubless.vectors.sources import ArrayVectors
from hubless.vectors.space import Space
from hubless_lab.experiments.methods import Method
from hubless_lab.experiments.trials import Trial

SHARES = {"½": 0.5, "¼": 0.25, "⅛": 0.125}
FIRST = "first half"
FULL = ", keep_full"
SEEDS = 3
KEPT = IMAGES / "dimensions.json"
AUTO = Method("auto")


def reduced(given: Trial, space: Space) -> Trial:
    """Return the trial with all vectors reduced."""
    sides = {"query_bank": given.query_bank, "target_bank": given.target_bank}
    both = {name: getattr(given.pairs, name) for name in ("queries", "targets")}
    made, pairs = (
        {name: rows if rows is None else space.compared_rows(rows, name) for name, rows in some.items()}
        for some in (sides, both)
    )
    return replace(given, pairs=replace(given.pairs, **pairs), **made)


def space_of(given: Trial, dims: int | str) -> Space:
    """Return the space that a build would have."""
    sides = (given.targets, given.query_bank, given.target_bank)
    targets, bank, extra = (None if side is None else ArrayVectors(side, "side") for side in sides)
    assert targets is not None
    assert bank is not None
    return fit_space(Recipe(metric="cosine", dims=dims), targets, bank, extra)


def right(given: Trial) -> tuple[float, float]:
    """R@1 in per cent, raw and by `auto`."""
    found = hits(given, [Method("none"), AUTO])
    return 100 * float(found["none"].mean()), 100 * float(found[AUTO.label].mean())


def kept_full(given: Trial, dims: int) -> float:
    """R@1 in per cent by `auto` of an index of so many dimensions, of which whole vectors rank the candidates."""
    index = hubless.Index("auto", "cosine", dims=dims, keep_full=True)
    index.fit(given.query_bank, given.targets, target_bank=given.target_bank)
    firsts = index.query(given.pairs.queries[given.rows], 1).rows[:, 0]
    return 100 * float(np.mean([row in relevant for row, relevant in zip(firsts, given.relevant, strict=True)]))


def measure(data: Set, seeds: int) -> dict[str, Any]:
    """Return the mean R@1 of the splits, raw and by `auto`, for each number of dimensions, and what `auto` takes."""
    figures: dict[str, list[tuple[float, ...]]] = {}
    chosen = []
    dim = data.pairs.targets.shape[1]
    for seed in range(seeds):
        given = trial(replace(data, bank=None), None, seed)
        assert given is not None
        figures.setdefault("all", []).append(right(given))
        for name, share in SHARES.items():
            space = space_of(given, int(share * dim))
            figures.setdefault(name, []).append(right(reduced(given, space)))
            figures.setdefault(name + FULL, []).append((kept_full(given, int(share * dim)),))
        first = Space("cosine", dim, np.eye(dim, dim // 2, dtype=np.float32))
        figures.setdefault(FIRST, []).append(right(reduced(given, first)))
        found = space_of(given, "auto")
        chosen.append(found.stored_dim)
        figures.setdefault("auto", []).append(right(reduced(given, found)))
    means = {name: [round(float(value), 2) for value in np.mean(values, axis=0)] for name, values in figures.items()}
    return {"set": data.name, "dim": dim, "chosen": chosen, "figures": means}


def markdown(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each way to fewer dimensions: what it changes beside all dimensions, raw and corrected."""
    yield "| dimensions | `auto`, beside raw with all | `auto`, beside `auto` with all |"
    yield "| --- | ---: | ---: |"
    for name in (*SHARES, "auto"):
        cells = []
        for place in (0, 1):
            changes = [found["figures"][name][1] - found["figures"]["all"][place] for found in sets]
            cells.append(f"{signed(float(np.mean(changes)))} / {signed(min(changes))}")
        yield f"| {f'`dims={name}`' if name == 'auto' else name} | {' | '.join(cells)} |"


def main() -> None:
    """Measure all folders."""
    print_sets(__doc__, SEEDS, KEPT, of_each(measure), markdown)


if __name__ == "__main__":
    main()
