import numpy as np
import pytest
from support.made_pairs import make_pairs

from hubless_demo.training import fit_map, fit_side, fold, normalise, train

UNSEEN = ["open the file", "count count COUNT numbers n3", "sort a listOfItems by n1, n2 and unheard_of words"]


@pytest.fixture(scope="module")
def fitted(made_pairs):
    text_side = fit_side([pair.doc for pair in made_pairs], dampened=False, seed=0)
    code_side = fit_side([pair.code for pair in made_pairs], dampened=True, seed=0)
    linear = fit_map(
        text_side.encode([pair.doc for pair in made_pairs]), code_side.encode([pair.code for pair in made_pairs])
    )
    return text_side, linear


def test_folded_encoder_equals_the_pipeline_it_was_folded_from(fitted, made_pairs):
    text_side, linear = fitted
    texts = [pair.doc for pair in made_pairs] + UNSEEN
    by_pipeline = normalise(text_side.encode(texts) @ linear)
    np.testing.assert_allclose(fold(text_side, linear).encode(texts), by_pipeline, atol=1e-5)


def test_trained_encoders_find_code_by_text_better_than_chance_on_unseen_pairs():
    pairs = make_pairs(1500, seed=1)
    encoders = train(pairs[:1300])
    unseen = pairs[1300:]
    similarities = (
        encoders.text.encode([pair.doc for pair in unseen]) @ encoders.code.encode([pair.code for pair in unseen]).T
    )
    place = (similarities > np.diag(similarities)[:, np.newaxis]).sum(axis=1)
    assert np.median(place) < 20, "by chance it is 100"


def test_fewer_pairs_than_dimensions_can_be_trained_on():
    encoders = train(make_pairs(20))
    assert encoders.text.dim <= 20
    assert encoders.code.encode(["def nepoX(elif_y): pass"]).shape == (1, encoders.text.dim)
