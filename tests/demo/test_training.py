import numpy as np
import pytest
from demo.conftest import make_pairs

from hubless.demo.training import DIMENSIONS, fit_map, fit_side, fold, normalise, train
from hubless.encoders import load_encoder

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


def test_folded_encoder_still_equals_the_pipeline_after_a_round_trip_to_disk(fitted, tmp_path):
    text_side, linear = fitted
    fold(text_side, linear).save(tmp_path)
    by_pipeline = normalise(text_side.encode(UNSEEN) @ linear)
    np.testing.assert_allclose(load_encoder(tmp_path).encode(UNSEEN), by_pipeline, atol=1e-5)


def test_trained_encoders_find_code_by_text_better_than_chance_on_unseen_pairs():
    pairs = make_pairs(1500, seed=1)
    encoders = train(pairs[:1300])
    unseen = pairs[1300:]
    similarities = (
        encoders.text.encode([pair.doc for pair in unseen]) @ encoders.code.encode([pair.code for pair in unseen]).T
    )
    place = (similarities > np.diag(similarities)[:, np.newaxis]).sum(axis=1)
    assert np.median(place) < 20, "by chance it is 100"


def test_both_sides_have_unit_vectors_of_one_dimension(made_pairs):
    encoders = train(made_pairs)
    texts = encoders.text.encode([pair.doc for pair in made_pairs])
    codes = encoders.code.encode([pair.code for pair in made_pairs])
    assert texts.shape == codes.shape == (300, DIMENSIONS)
    assert texts.dtype == codes.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(codes, axis=1), 1, atol=1e-5)


def test_fewer_pairs_than_dimensions_can_be_trained_on():
    encoders = train(make_pairs(20))
    assert encoders.text.dim <= 20
    assert encoders.code.encode(["def nepoX(elif_y): pass"]).shape == (1, encoders.text.dim)


def test_training_twice_with_one_seed_gives_the_same_encoders(made_pairs):
    one, two = train(made_pairs, seed=3), train(made_pairs, seed=3)
    assert one.text.vocabulary == two.text.vocabulary
    np.testing.assert_array_equal(one.text.rows, two.text.rows)
