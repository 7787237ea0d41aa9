import math

import numpy as np
import pytest

from hubless.errors import InputError
from hubless.measures.confidence.cut import CONFIDENCE, PRESENCE, Cut, fit_confidence
from hubless.measures.confidence.level import PENALTIES, Level
from hubless.measures.confidence.logistic import Logistic
from hubless.measures.labelled_answers import DEPTH, Answers

RNG = np.random.default_rng(3)
NO_WEIGHTS = np.zeros(4, np.float32)


def sigmoid(value):
    return 1 / (1 + math.exp(-value))


def model(temperature=0.02, weights=NO_WEIGHTS, constant=0.0, **more):
    level = Level(
        temperature, np.asarray(weights, np.float32), constant, constant, near=0.2, of_z=2.0, of_similarity=0.1
    )
    return Cut((level, level), **more)


def best_scores(m=50, b=DEPTH, seed=0):
    scores = np.random.default_rng(seed).normal(0.3, 0.03, (m, b)).astype(np.float32)
    return -np.sort(-scores, axis=1)


def assess(made, best, queries=None, strength=1.0):
    """The similarity of each first hit is its score, as without offsets."""
    queries = np.zeros((len(best), 4), np.float32) if queries is None else queries
    return made.assess(queries, best, best[:, :1], best, strength)


def fitted(queries, scores):
    return fit_confidence(queries, (scores, scores), (scores, scores))


def naive(best, query, level):
    """Confidence, presence and shares of one query, number by number."""
    first = float(best[0])
    over = [(float(score) - first) / level.temperature for score in best[:DEPTH]]
    z = (first - float(query @ level.weights) - level.constant) / level.temperature
    others = sum(math.exp(each) for each in over if abs(each) > 1e-4)
    others += (DEPTH - len(over)) / 10 * math.exp(-z)
    confidence = sigmoid(CONFIDENCE.slope * -math.log(others) + CONFIDENCE.intercept)
    shares = [confidence * math.exp((float(score) - first) / level.temperature) for score in best]
    height = (z / level.of_z + (first - level.near) / level.of_similarity) / 2
    return confidence, sigmoid(PRESENCE.slope * height + PRESENCE.intercept), shares


@pytest.mark.parametrize("b", [1, 2, 5, DEPTH, 15])
def test_numbers_are_those_of_the_naive_reference(b):
    level = Level(0.03, np.array([0.1, -0.2, 0.05, 0.0], np.float32), 0.25, 0.3, DEPTH, 0.28, 3.0, 0.05)
    best, queries = best_scores(30, b), RNG.normal(size=(30, 4)).astype(np.float32)
    best[:5, 1:2] = best[:5, :1] - np.float32(1e-6)  # a copy but for rounding
    made = Cut((level, level))
    found = assess(made, best, queries)
    for line in range(30):
        one = assess(made, best[[line]], queries[[line]])
        np.testing.assert_array_equal(one.numbers, found.numbers[[line]])
        confidence, presence, shares = naive(best[line], queries[line], level)
        assert found.confidence[line] == pytest.approx(confidence, rel=1e-4)
        assert found.presence[line] == pytest.approx(presence, rel=1e-4)
        np.testing.assert_allclose(found.shares[line], shares, rtol=1e-4)


@pytest.mark.parametrize("m", [1, 20])
def test_first_hit_of_a_rescorer_that_scores_below_others_is_less_sure(m):
    best = best_scores(m)
    swapped = best[:, [4, 0, 1, 2, 3, *range(5, DEPTH)]]
    assert (assess(model(), swapped).confidence < assess(model(), best).confidence).all()
    assert (assess(model(), swapped).shares <= assess(model(), swapped).confidence[:, np.newaxis]).all()


@pytest.mark.parametrize("best", [np.zeros((3, 11)), np.full((3, 11), 1e30), np.full((3, 1), -1e30), np.zeros((3, 0))])
def test_strange_scores_give_numbers_from_0_to_1(best):
    numbers = assess(model(1e-6), best.astype(np.float32)).numbers
    assert np.isfinite(numbers).all()
    assert ((numbers >= 0) & (numbers <= 1)).all()


@pytest.mark.parametrize("scores", [np.zeros((30, 11)), np.full((30, 1), 0.5), np.full((30, 2), 1e20)])
def test_fit_on_scores_that_say_nothing_gives_a_model(scores):
    queries = RNG.normal(size=(30, 4)).astype(np.float32)
    made = fitted(queries, scores.astype(np.float32))
    assert made.levels[0].temperature > 0
    assert np.isfinite(assess(made, best_scores()).confidence).all()


def test_level_of_a_strength_lies_on_the_line_through_raw_and_full():
    first, second = np.eye(2, 4, dtype=np.float32)
    raw, full = Level(0.02, first, 0.5, 0.6, of_z=4.0), Level(0.04, second, 0.1, 0.2, near=0.4)
    made = Cut((raw, full))
    assert made.level(0.0).constant == raw.constant
    np.testing.assert_array_equal(made.level(1.0).weights, full.weights)
    half = made.level(0.5)
    assert half.temperature == pytest.approx(0.03)
    assert half.second == pytest.approx(0.4)
    np.testing.assert_allclose(half.weights, [0.5, 0.5, 0, 0])
    assert (half.near, half.of_z, half.of_similarity) == pytest.approx((0.2, 2.5, 1.0))
    assert (made.level(2.0).temperature, made.level(2.0).of_z) == pytest.approx((0.06, 0.1))  # no unit falls to 0


@pytest.mark.parametrize(("m", "d"), [(12, 40), (40, 6), (40, 40), (8, 6)])
def test_weights_are_those_of_the_penalty_that_predicts_best_what_is_left_out(m, d):
    queries, scores = RNG.normal(size=(m, d)).astype(np.float32), best_scores(m)
    scores[:, 1] += 0.02 * queries[:, 0]
    unit = (np.linalg.svd(queries - queries.mean(axis=0), compute_uv=False) ** 2).mean()

    def solved(penalty, some):
        x, y = queries[some].astype(float), scores[some, 1].astype(float)
        x, y, mean, usual = x - x.mean(axis=0), y - y.mean(), x.mean(axis=0), y.mean()
        return np.linalg.solve(x.T @ x + penalty * unit * np.eye(d), x.T @ y), mean, usual

    def error(penalty):
        total = 0
        for row in range(m):
            weights, mean, usual = solved(penalty, np.arange(m) != row)
            total += (scores[row, 1] - usual - (queries[row] - mean) @ weights) ** 2
        return total

    expected = solved(min(PENALTIES, key=error), slice(None))[0]
    level = fitted(queries, scores).levels[0]
    np.testing.assert_allclose(level.weights, expected, atol=1e-5)
    assert level.temperature == pytest.approx(np.median(scores[:, 1:11].std(axis=1)), rel=1e-5)
    assert level.near == pytest.approx(scores[:, 1].mean(), rel=1e-5)
    heights = (scores[:, 0] - queries @ level.weights - level.constant) / level.temperature
    assert (level.of_z, level.of_similarity) == pytest.approx((heights.std(), scores[:, 0].std()), rel=1e-3)


def made_set(m=2000, d=16, seed=0):
    """Queries whose level is known, with best scores; half of them have a right target, which is higher by chance."""
    rng = np.random.default_rng(seed)
    queries = rng.normal(size=(m, d)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    level = 0.4 + 0.3 * queries[:, 0]
    others = level[:, np.newaxis] + rng.gumbel(0, 0.01, (m, DEPTH))
    right = level + rng.normal(0.06, 0.03, m)
    present = rng.random(m) < 0.5
    scores = np.where(
        present[:, np.newaxis], np.column_stack([right, others]), np.column_stack([others, others[:, 0] - 1])
    )
    order = np.argsort(-scores, axis=1)
    first_is_right = present & (order[:, 0] == 0)
    best = np.take_along_axis(scores, order, axis=1)[:, :DEPTH].astype(np.float32)
    return queries, best, present, first_is_right


def auroc(values, positive):
    order = np.argsort(np.argsort(values))
    return (order[positive].mean() - (positive.sum() - 1) / 2) / (~positive).sum()


def test_presence_sees_through_the_level_of_the_query_where_the_score_does_not():
    queries, best, present, _ = made_set()
    half = len(queries) // 2
    found = assess(fitted(queries[:half], best[:half]), best[half:], queries[half:])
    assert auroc(found.presence, present[half:]) > auroc(best[half:, 0], present[half:]) + 0.1


def test_presence_sees_strangers_whose_first_hit_is_high_for_such_a_query_and_low_for_all():
    queries, best, _, _ = made_set()
    strange = queries[:500].copy()
    strange[:, 0] = -1.0  # q·w is far below that of all others
    first = np.random.default_rng(1).normal(0.2, 0.05, (500, 1)).astype(np.float32)
    scores = np.concatenate([best[:500], best[:500] - best[:500, :1] + first])
    asked = np.concatenate([queries[:500], strange])
    present = np.repeat([True, False], 500)
    made = fitted(queries, best)
    presence, z = assess(made, scores, asked).presence, made.level(1.0).numbers(asked, scores)[1]
    assert auroc(z, present) < 0.3 < 0.6 < auroc(presence, present)


def test_answers_know_what_is_right_and_what_is_left_without_it():
    scores = np.array([[9, 8, 7, 6], [9, 9, 7, 6], [9, 8, 7, 6]], np.float32)
    rows = np.array([[4, 1, 2, 3], [1, 4, 2, 3], [1, 2, 4, 5]])
    right = [np.array([4]), np.array([4]), np.array([4, 5])]
    found = Answers.of(np.zeros((3, 2), np.float32), scores, scores / 10, rows, right)
    np.testing.assert_allclose(found.near, [[0.9, 0.8], [0.9, 0.9], [0.9, 0.9]])
    assert found.right.tolist() == [True, True, False]  # of the second, a copy ties with the first hit
    assert found.without.tolist() == [[8, 7], [9, 7], [9, 8]]


def test_model_comes_back_from_its_state():
    queries = RNG.normal(size=(30, 4)).astype(np.float32)
    scores = best_scores(30)
    made = fit_confidence(queries, (scores, scores), (scores + 1, scores + 2))
    again = Cut.from_state(made.state(), 4)
    for strength in (0.0, 0.5, 1.0):
        one, other = (assess(each, scores, queries, strength).numbers for each in (made, again))
        np.testing.assert_array_equal(one, other)
    assert all(array.dtype.kind in "fi" for array in made.state().values())
    for state, dim in ((made.state(), 5), (made.state() | {"of_z": np.zeros(2)}, 4)):
        with pytest.raises(ValueError, match="shapes"):
            Cut.from_state(state, dim)


class TestLogistic:
    def test_many_labels_find_the_curve_that_made_them(self):
        x = RNG.normal(0, 3, 20_000).astype(np.float32)
        right = RNG.random(len(x)) < Logistic(0.7, -1.2)(x)
        assert Logistic(1, -0.5).fitted(x, right) == pytest.approx(Logistic(0.7, -1.2), abs=0.06)

    def test_minimum_is_where_the_slope_of_the_loss_vanishes(self):
        x, right = RNG.normal(0, 2, 40), RNG.random(40) < 0.6
        found, prior, step = Logistic(1, -0.5).fitted(x, right), Logistic(1, -0.5), 1e-5

        def loss(slope, intercept):
            values = slope * x + intercept
            penalty = 10 * (slope - prior.slope) ** 2 + (intercept - prior.intercept) ** 2
            return np.logaddexp(0, values).sum() - values[right].sum() + penalty / 2

        for change in ((step, 0), (-step, 0), (0, step), (0, -step)):
            assert loss(found.slope + change[0], found.intercept + change[1]) >= loss(*found)

    @pytest.mark.parametrize("right", [np.zeros(50, bool), np.ones(50, bool)])
    def test_labels_of_one_kind_give_no_certainty(self, right):
        found = Logistic(1, -0.5).fitted(RNG.normal(size=50), right)(np.zeros(1, np.float32))[0]
        assert 0.001 < found < 0.2 if not right[0] else 0.8 < found < 0.999

    def test_labels_against_the_order_give_one_probability_for_all(self):
        x = np.linspace(-8, 8, 2000)
        found = Logistic(1, 0).fitted(x, x < 0)
        assert found.slope == 0
        assert found(np.float32([-5, 5])).tolist() == pytest.approx([0.5, 0.5], abs=0.01)


def test_labels_with_several_right_targets_let_height_count_which_scores_alone_do_not_tell():
    queries, best, _, _ = made_set()
    level = fitted(queries, best).level(1.0)
    height = level.height(level.numbers(queries, best)[1], best[:, 0])
    right = RNG.random(len(height)) < 1 / (1 + np.exp(-4 * (height - np.median(height))))
    told = []
    for several in (np.zeros_like(right), np.arange(len(right)) % 10 == 0):
        answers = Answers(queries, best, right, best, np.ones_like(right), several, best[:, [0, 0]], best, best > 0)
        made = fitted(queries, best).calibrated_by(answers.some(slice(400)), 1.0)
        told.append((made.lean, auroc(assess(made, best[400:], queries[400:]).confidence, right[400:])))
    assert [lean for lean, _ in told] == [0, 1]
    assert told[1][1] > told[0][1] + 0.1
    assert made.accuracies
    assert Cut.from_state(made.state(), 16).lean == 1
    alone = Cut.from_json(made.as_json())
    assert (alone.pairs, alone.accuracies, alone.confidence(best[0])) == (0, [], made.confidence(best[0]))
    with pytest.raises(InputError, match="confidence is not calibrated"):
        made.accept(best[0])
