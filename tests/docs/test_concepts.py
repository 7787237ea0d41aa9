import re
from dataclasses import fields
from pathlib import Path

import pytest

from hubless.corrections import CORRECTIONS, QUERY_TIMES
from hubless.corrections.folded.auto import SHRINKAGE_QUERIES
from hubless.corrections.temperature import LEAST_PERPLEXITY, MOST_PERPLEXITY, SHARE_OF_BANK

PAGE = (Path(__file__).parents[2] / "docs" / "concepts.md").read_text("utf-8")
SECTION = re.search(r"(?ms)^## Corrections$(.*?)^## ", PAGE).group(1)
NAMES = set(re.findall(r"`([a-z]+)`", SECTION)) & set(CORRECTIONS)


def test_corrections_that_are_explained_fold_and_the_default_is_one_of_them():
    assert "auto" in NAMES
    assert NAMES & set(QUERY_TIMES) == set()


@pytest.mark.parametrize("parameter", re.findall(r"`(\w+(?==)|fit_sample|perplexity|iterations)", SECTION))
def test_parameter_that_is_named_is_one_of_these_corrections(parameter):
    assert parameter in {field.name for name in NAMES for field in fields(CORRECTIONS[name])}


def test_rule_for_the_perplexity_is_that_of_the_code():
    assert f"clip({SHARE_OF_BANK:g} · b, {LEAST_PERPLEXITY:g}, {MOST_PERPLEXITY:g})" in SECTION


def test_shrinkage_is_that_of_the_code():
    assert f"b/(b + {SHRINKAGE_QUERIES})" in SECTION
    assert f"{SHRINKAGE_QUERIES} bank queries count by half" in " ".join(SECTION.split())
