"""Filters as users of other programs write them are refused with the same filter in our form."""

import json

import pyarrow as pa
import pytest

import hubless
from hubless.errors import InputError, UnknownField
from hubless.filters import parse_filter
from hubless.vectors.free_payload import FREE_SCHEMA

SCHEMA = pa.schema(
    {
        "price": pa.float64(),
        "genre": pa.string(),
        "year": pa.int32(),
        "tags": pa.list_(pa.string()),
        "must": pa.string(),
    }
)
CHEAP, DRAMA = {"field": "price", "lt": 20}, {"field": "genre", "eq": "drama"}
BOTH = {"and": [CHEAP, DRAMA]}


def of(field, **asked):
    return {"field": field, **asked}


FOREIGN = [
    # Chroma, Pinecone, MongoDB, LangChain
    ({"price": {"$lt": 20}}, CHEAP),
    ({"price": {"$gte": 1, "$lt": 20}}, of("price", gte=1, lt=20)),
    ({"price": {"$lt": 20}, "genre": "drama"}, BOTH),
    ({"$and": [{"price": {"$lt": 20}}, {"genre": {"$eq": "drama"}}]}, BOTH),
    ({"$or": [{"year": {"$gt": 3}}, {"year": {"$lte": 1}}]}, {"or": [of("year", gt=3), of("year", lte=1)]}),
    ({"genre": {"$ne": "drama"}}, {"not": DRAMA}),
    ({"genre": {"$ne": "drama"}, "year": 3}, {"and": [{"not": DRAMA}, of("year", eq=3)]}),
    ({"genre": {"$in": ["a", "b"]}}, of("genre", **{"in": ["a", "b"]})),
    ({"genre": {"$nin": ["a"]}}, {"not": of("genre", **{"in": ["a"]})}),
    ({"genre": {"$eq": None}}, of("genre", exists=False)),
    ({"$not": {"genre": "drama"}}, {"not": DRAMA}),
    ({"$nor": [{"genre": "drama"}, {"price": {"$lt": 20}}]}, {"not": {"or": [DRAMA, CHEAP]}}),
    ({"year": {"$exists": False}}, of("year", exists=False)),
    ({"price": {"$between": [1, 2]}}, of("price", gte=1, lte=2)),
    ({"tags": {"$contains": "x"}}, of("tags", contains="x")),
    ({"tags": {"$not_contains": "x"}}, {"not": of("tags", contains="x")}),
    ({"tags": {"$all": ["x", "y"]}}, {"and": [of("tags", contains="x"), of("tags", contains="y")]}),
    ({"year": {"gte": 3}}, of("year", gte=3)),
    ({"year": {">=": 3}}, of("year", gte=3)),
    ({"field": "year", "$gte": 3}, of("year", gte=3)),
    ({"and": [{"price": {"$lt": 20}}, {"genre": "drama"}]}, BOTH),
    # Qdrant
    ({"must": [{"key": "genre", "match": {"value": "drama"}}]}, DRAMA),
    ({"must": [{"key": "price", "range": {"gte": 1, "lt": 20}}]}, of("price", gte=1, lt=20)),
    ({"must": {"key": "price", "range": {"lt": 20}}, "must_not": [{"key": "genre", "match": {"value": "drama"}}]},
     {"and": [CHEAP, {"not": DRAMA}]}),
    ({"should": [{"key": "genre", "match": {"any": ["a"]}}, {"is_empty": {"key": "year"}}]},
     {"or": [of("genre", **{"in": ["a"]}), of("year", exists=False)]}),
    ({"must": [{"key": "genre", "match": {"except": ["a"]}}]}, {"not": of("genre", **{"in": ["a"]})}),
    # Elasticsearch
    ({"bool": {"filter": [{"term": {"genre": "drama"}}, {"range": {"price": {"lt": 20}}}]}}, {"and": [DRAMA, CHEAP]}),
    ({"bool": {"must_not": {"exists": {"field": "year"}}}}, {"not": of("year", exists=True)}),
    # Haystack, LlamaIndex
    ({"operator": "AND", "conditions": [{"field": "price", "operator": "<", "value": 20},
                                        {"field": "genre", "operator": "==", "value": "drama"}]}, BOTH),
    ({"field": "genre", "operator": "not in", "value": ["a"]}, {"not": of("genre", **{"in": ["a"]})}),
    ({"filters": [{"key": "price", "operator": "<", "value": 20}, {"key": "genre", "value": "drama"}]}, BOTH),
    ({"filters": [{"key": "price", "operator": "<", "value": 20}, {"key": "year", "value": 1}], "condition": "or"},
     {"or": [CHEAP, of("year", eq=1)]}),
    # texts
    ("price < 20", CHEAP),
    ("price < 20 AND genre = 'drama'", BOTH),
    ('20 > price && genre == "drama"', BOTH),
    ("genre in ['a', 'b'] or not year >= 3", {"or": [of("genre", **{"in": ["a", "b"]}), {"not": of("year", gte=3)}]}),
    ("genre IN ('a', 'b')", of("genre", **{"in": ["a", "b"]})),
    ("1 < year <= 5", {"and": [of("year", gt=1), of("year", lte=5)]}),
    ("genre <> 'a = b'", {"not": of("genre", eq="a = b")}),
    ("genre IS NOT NULL", {"not": of("genre", exists=False)}),
    ('{"genre": "drama"}', DRAMA),
    ([{"price": {"$lt": 20}}, {"genre": "drama"}], BOTH),
]  # fmt: skip


@pytest.mark.parametrize(("written", "own"), FOREIGN, ids=lambda case: json.dumps(case)[:60])
def test_filter_of_another_program_is_refused_with_its_right_form(written, own):
    with pytest.raises(InputError) as refused:
        parse_filter(written, SCHEMA)
    assert refused.value.expected == f"the form of hubless, {json.dumps(own)}"
    assert refused.value.parameter == "filter"
    assert parse_filter(own, SCHEMA)


@pytest.mark.parametrize(("written", "own"), FOREIGN[:1] + FOREIGN[-2:], ids=lambda case: json.dumps(case)[:60])
def test_free_payload_is_told_likewise(written, own):
    with pytest.raises(InputError) as refused:
        parse_filter(written, FREE_SCHEMA)
    assert json.dumps(own) in refused.value.expected


def test_search_in_memory_tells_the_right_form_too():
    index = hubless.Index("csls", "cosine", parameters={"k": 2})
    index.fit([[1.0, 1.0], [2.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]], payload=[{"price": 1.0}, {"price": 30.0}])
    with pytest.raises(InputError, match=r'the form of hubless, \{"field": "price", "lt": 20\}'):
        index.query([[1.0, 0.0]], limit=1, filter={"price": {"$lt": 20}})


def test_mistake_in_a_filter_of_another_program_is_told_with_the_form():
    with pytest.raises(UnknownField) as unknown:
        parse_filter({"pric": {"$lt": 20}}, SCHEMA)
    assert "one of price, genre" in unknown.value.expected
    assert '{"field": "pric", "lt": 20}' in unknown.value.expected
    with pytest.raises(InputError) as wrong:
        parse_filter({"price": {"$lt": "x"}}, SCHEMA)
    assert "a number" in wrong.value.expected
    assert '{"field": "price", "lt": "x"}' in wrong.value.expected


@pytest.mark.parametrize(
    "written",
    [
        *("words", "price <", "f(price)", "price < year", "a" * 2000, "(" * 900, "price < 1; price < 2", "1 < 2", "[]"),
        *({"price": {"$regex": "x"}}, {"price": {"$lt": {"a": 1}}}, {"$gt": 3}, {"has_id": [1]}, {"price": {}}, []),
        *({"price": {"$between": [1]}}, {"price": {"$in": 3}}, {"operator": "XOR", "conditions": [{"price": 1}]}),
        {"price": "20"},
    ],
)
def test_filter_without_a_counterpart_is_refused_as_before(written):
    with pytest.raises(InputError) as refused:
        parse_filter(written, SCHEMA)
    assert "the form of hubless" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_column_called_like_a_combination_of_others_is_a_column():
    assert parse_filter({"must": "x"}, SCHEMA)
    assert parse_filter({"must": ["x", "y"]}, SCHEMA)


def test_filter_that_is_long_is_shown_in_part():
    with pytest.raises(InputError) as refused:
        parse_filter({"year": {"$in": list(range(9000))}}, SCHEMA)
    assert len(str(refused.value)) < 2200
