import re
from pathlib import Path

from hubless.corrections.folded.auto import SHRINKAGE_QUERIES
from hubless.corrections.temperature import LEAST_PERPLEXITY, MOST_PERPLEXITY, SHARE_OF_BANK

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "concepts.md").read_text("utf-8")
SECTION = re.search(r"(?ms)^## Corrections$(.*?)(?:^## |\Z)", PAGE).group(1)


def test_rule_for_the_perplexity_is_that_of_the_code():
    assert f"clip({SHARE_OF_BANK:g} · b, {LEAST_PERPLEXITY:g}, {MOST_PERPLEXITY:g})" in SECTION


def test_shrinkage_is_that_of_the_code():
    assert f"b/(b + {SHRINKAGE_QUERIES})" in (DOCS / "auto.md").read_text("utf-8")
