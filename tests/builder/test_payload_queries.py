import numpy as np
import pyarrow as pa
import pytest
from support import catalogs

import hubless
from hubless.builder.banks.payload_queries import payload_queries
from hubless.errors import InputError, NoEncoder, UnknownField

TITLES = ["amber birch", "", None, "cedar delta", "nothing known", "amber birch"]


@pytest.fixture(scope="module")
def collection():
    encoder = catalogs.encoder()
    targets = encoder.encode(["amber", "birch", "cedar", "delta", "ember", "fjord"])
    payload = pa.table(
        {
            "title": TITLES,
            "caption": [f"{word} ember" for word in ["amber", "birch", "cedar", "delta", "fjord", "grove"]],
            "n": range(6),
        }
    )
    return hubless.Index("none", "cosine").fit(None, targets, payload=payload, encoder=encoder)


def test_each_text_that_the_encoder_knows_is_a_query_once(collection):
    expected = catalogs.encoder().encode(["amber birch", "cedar delta"])
    np.testing.assert_allclose(payload_queries(collection, ["title"]), expected)
    assert len(payload_queries(collection, ["title", "caption"])) == 8


@pytest.mark.parametrize(("columns", "error"), [(["n"], InputError), (["other"], UnknownField)])
def test_columns_without_texts_are_refused_by_name(collection, columns, error):
    with pytest.raises(error, match=columns[0]):
        payload_queries(collection, columns)


def test_collection_without_encoder_is_refused(collection):
    without = hubless.Index("none", "cosine").fit(
        None, collection.vectors(np.arange(2)), payload=[{"a": "x"}, {"a": "y"}]
    )
    with pytest.raises(NoEncoder):
        payload_queries(without, ["a"])
