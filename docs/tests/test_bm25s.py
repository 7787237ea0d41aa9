"""The recipe of the docs for bm25s, as it stands there. It needs bm25s: `make extras`."""

import random
from pathlib import Path
from typing import Any

import pytest
from support.pages import blocks

import hubless

pytest.importorskip("bm25s")
PAGE = Path(__file__).parents[2] / "docs" / "query-log.md"
WORDS = [f"word{number}" for number in range(300)]


def test_recipe_fits_on_what_bm25s_finds_and_corrects_it():
    draw = random.Random(0)  # noqa: S311
    texts = [" ".join(draw.sample(WORDS, draw.choice([8, 8, 8, 200]))) for _ in range(400)]
    queries = [" ".join(draw.sample(draw.choice(texts).split(), 4)) for _ in range(600)]
    (recipe,) = [block.text for block in blocks(PAGE) if block.text.startswith("import bm25s")]
    given: dict[str, Any] = {
        "texts": texts,
        "past_queries": queries[:500],
        "new_queries": queries[500:],
        "hubless": hubless,
    }
    exec(recipe, given)  # noqa: S102
    past, new = (given["search_all"](some) for some in (queries[:500], queries[500:]))
    assert min(min(scores) for _, scores in new) > 0
    wanted = hubless.ScoreCorrection.fit(past)
    assert [answer.ids for answer in given["answers"]] == [wanted.rerank(ids, scores, 10).ids for ids, scores in new]
    assert sum(answer.ids[0] != ids[0] for answer, (ids, _) in zip(given["answers"], new, strict=True)) > 5
