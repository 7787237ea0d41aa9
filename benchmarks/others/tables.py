"""Tables of what suites of others measured, without these suites."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

MTEB = Path(__file__).parents[2] / "lab" / "docs" / "performance" / "mteb.json"
MEASURES = ("ndcg_at_10", "hit_rate_at_1")


def of_mteb(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown: raw beside corrected."""
    yield "| set | nDCG@10 raw | corrected | R@1 raw | corrected |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for each in sets:
        cells = (f"{each[way][name]:.1f}" for name in MEASURES for way in ("none", "auto"))
        yield f"| {each['set']} | {' | '.join(cells)} |"
