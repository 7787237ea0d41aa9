"""Each filter finds what Haystack's own filter function passes."""

import itertools
from datetime import datetime

import pytest
from haystack import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter

DOCUMENTS = [
    Document(id="a", content="first", meta={"year": 1999, "lang": "de", "tags": ["x"], "who": {"name": "Ann"}}),
    Document(id="b", content="second", meta={"year": 2004, "lang": "en", "day": "2024-01-31T00:00:00"}),
    Document(id="c", content="first", meta={"year": 2004.5, "lang": None, "who": {"name": None}, "ok": True}),
    Document(id="d", meta={"day": "2025-03-01T12:00:00", "ok": False}),
]

CASES = [
    ("meta.year", "==", 2004),
    ("year", "!=", 2004),
    ("meta.year", ">", 2004),
    ("meta.year", ">=", 2004),
    ("meta.year", "<", 2004.5),
    ("meta.year", "<=", 2004.5),
    ("meta.year", ">", None),
    ("meta.lang", "==", None),
    ("meta.lang", "!=", None),
    ("meta.lang", "in", ["de", None]),
    ("meta.lang", "not in", ["de", None]),
    ("meta.lang", "not in", ["de"]),
    ("meta.who.name", "==", "Ann"),
    ("meta.who.name", "!=", "Ann"),
    ("meta.ok", "==", True),
    ("meta.day", ">", "2024-06-01T00:00:00"),
    ("meta.day", "==", "2024-01-31T00:00:00"),
    ("content", "==", "first"),
    ("content", "==", None),
    ("id", "==", "b"),
    ("id", "in", ["a", "d", "z"]),
    ("meta.unknown", "==", 1),
]


def one(field, operator, value):
    return {"field": field, "operator": operator, "value": value}


def joined(operator, *conditions):
    return {"operator": operator, "conditions": list(conditions)}


@pytest.fixture
def filled(new_store):
    store = new_store(embedding_dim=2)
    store.write_documents(DOCUMENTS)
    return store


def check(store, filters):
    found = {document.id for document in store.filter_documents(filters)}
    assert found == {each.id for each in DOCUMENTS if document_matches_filter(filters, each)}, filters


def test_comparisons_find_what_haystack_passes(filled):
    for case in CASES:
        check(filled, one(*case))


def test_logic_finds_what_haystack_passes(filled):
    for number, (first, second) in enumerate(itertools.combinations(CASES, 2)):
        operator = ("AND", "OR", "NOT")[number % 3]
        if number % 7 == 0:
            check(filled, joined(operator, one(*first), joined("NOT", one(*second), joined("OR", one(*CASES[0])))))


def test_date_of_python_is_compared_as_its_text(filled):
    later = one("meta.day", ">", datetime(2024, 6, 1))
    assert [document.id for document in filled.filter_documents(later)] == ["d"]


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (one("meta.year", "=", 1), "one of the operators ==, !="),
        (joined("XOR", one("meta.year", "==", 1)), "one of the operators AND, OR, NOT"),
        ({"field": "meta.year", "value": 1}, "expected a key 'operator'"),
        ({"field": "meta.year", "operator": "=="}, "expected a key 'value'"),
        (joined("AND", "meta.year"), "expected a dict, got str"),
        (one("meta.lang", ">", "de"), "a number or an ISO date"),
        (one("meta.lang", "in", "de"), "a list of values of 'meta.lang'"),
        (one("meta.tags", "==", ["x"]), "filter"),  # the server refuses it
    ],
)
def test_wrong_filter_is_refused_by_name(filled, filters, message):
    with pytest.raises(FilterError, match=message):
        filled.filter_documents(filters)
