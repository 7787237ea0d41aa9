"""Each filter finds what LlamaIndex's own filter function passes."""

import itertools

import pytest
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from llama_index.vector_stores.hubless import HublessError

METADATA = {
    "a": {"year": 1999, "lang": "de", "tags": ["x", "y"], "price": 1.5},
    "b": {"year": 2004, "lang": "en", "tags": ["y"], "price": 3},
    "c": {"year": 2004, "lang": "", "tags": []},
    "d": {"lang": None, "tags": ["x", "z"], "price": -2.25},
    "e": {},
}

OPERATORS = FilterOperator
CASES = [
    ("year", OPERATORS.EQ, 2004),
    ("lang", OPERATORS.EQ, "de"),
    ("price", OPERATORS.EQ, 1.5),
    ("year", OPERATORS.NE, 2004),
    ("lang", OPERATORS.NE, "de"),
    ("year", OPERATORS.GT, 1999),
    ("year", OPERATORS.GTE, 1999),
    ("price", OPERATORS.LT, 1.5),
    ("price", OPERATORS.LTE, 1.5),
    ("lang", OPERATORS.GT, "de"),
    ("year", OPERATORS.IN, [1999, 2000]),
    ("lang", OPERATORS.IN, ["de", "en"]),
    ("lang", OPERATORS.NIN, ["de"]),
    ("year", OPERATORS.NIN, [2004]),
    ("tags", OPERATORS.CONTAINS, "x"),
    ("tags", OPERATORS.ANY, ["x", "z"]),
    ("tags", OPERATORS.ALL, ["x", "y"]),
    ("lang", OPERATORS.IS_EMPTY, None),
    ("tags", OPERATORS.IS_EMPTY, None),
]


def one(key, operator, value):
    return MetadataFilter(key=key, operator=operator, value=value)


def passed(filters):
    """What LlamaIndex's function passes of the metadata above."""
    test = build_metadata_filter_fn(METADATA.__getitem__, filters)
    return {name for name in METADATA if test(name)}


@pytest.fixture(scope="module")
def filled(server):
    import uuid

    from llama_index.vector_stores.hubless import HublessVectorStore

    store = HublessVectorStore(f"filters-{uuid.uuid4().hex}", **server)
    store.add(
        [
            TextNode(id_=name, text=name, metadata=metadata, embedding=[1.0, float(row)])
            for row, (name, metadata) in enumerate(METADATA.items())
        ]
    )
    yield store
    store.client.delete_collection(store.collection)
    store.close()


def found(store, filters):
    return {node.node_id for node in store.get_nodes(filters=filters)}


@pytest.mark.parametrize(("key", "operator", "value"), CASES)
def test_operator_finds_what_llama_index_passes(filled, key, operator, value):
    filters = MetadataFilters(filters=[one(key, operator, value)])
    assert passed(filters)
    assert found(filled, filters) == passed(filters)


@pytest.mark.parametrize("condition", list(FilterCondition))
def test_conditions_join_as_in_llama_index(filled, condition):
    for cases in itertools.islice(itertools.combinations(CASES, 2), 0, None, 5):
        filters = MetadataFilters(filters=[one(*case) for case in cases], condition=condition)
        assert found(filled, filters) == passed(filters), cases


def test_filters_are_nested(filled):
    recent = MetadataFilters(filters=[one("year", OPERATORS.GTE, 2000)], condition="not")
    either = MetadataFilters(
        filters=[one("lang", OPERATORS.EQ, "de"), one("tags", OPERATORS.CONTAINS, "z"), recent], condition="or"
    )
    assert found(filled, MetadataFilters(filters=[either, recent])) == {"a", "d", "e"}
    assert found(filled, MetadataFilters(filters=[])) == set(METADATA)


def test_equality_with_none_asks_whether_there_is_a_value(filled):
    assert found(filled, MetadataFilters(filters=[one("year", OPERATORS.EQ, None)])) == {"d", "e"}
    assert found(filled, MetadataFilters(filters=[one("year", OPERATORS.NE, None)])) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("operator", "value", "message"),
    [
        (OPERATORS.TEXT_MATCH, "x", "text_match of 'lang'"),
        (OPERATORS.IN, "de", "expected a list of values"),
        (OPERATORS.ANY, 3, "expected a list of values"),
        (OPERATORS.GT, ["de"], "filter"),
    ],
)
def test_filter_that_hubless_has_not_is_refused_by_name(filled, operator, value, message):
    with pytest.raises(HublessError, match=message):
        filled.get_nodes(filters=MetadataFilters(filters=[one("lang", operator, value)]))
