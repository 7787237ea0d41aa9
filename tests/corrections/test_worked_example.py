"""Figure 1 of Yakovlev et al., SIGIR 2023: four queries and four targets, T = 1.

The rows of its matrix are the queries. Each is in turn the live query, with the other three as the bank; so all four
problems are of one matrix. Targets are its columns, so that the similarity to the i-th unit vector is row i. The
figure shows the DSL scores after one more softmax over each row, and the Sinkhorn plan with rows that sum to 1.
"""

import numpy as np
import pytest
from support.figures import DSL_FIRST_ROW, RAW, SINKHORN
from support.problems import Problem
from support.rankings import dense


def scores(name, **parameters):
    queries, targets = np.eye(4, dtype=np.float32), RAW.T.astype(np.float32)
    rows = []
    for live in range(4):
        others = np.delete(queries, live, axis=0)
        problem = Problem(targets, others, targets, queries[live : live + 1])
        rows.append(dense(problem, name, temperature=1.0, **parameters)[0])
    return np.array(rows, np.float64)


def softmax(exponents):
    weights = np.exp(exponents)
    return weights / weights.sum(axis=1, keepdims=True)


def test_dsl_gives_the_figures_numbers():
    published = np.exp(scores("dsl"))  # at τ = 1 our score is the logarithm of the published one
    assert softmax(published)[0] == pytest.approx(DSL_FIRST_ROW, abs=1e-4)
    assert published.argmax(axis=1).tolist() == [0, 1, 1, 0]


def test_single_query_sinkhorn_gives_the_figures_numbers():
    found = scores("sinkhorn", iterations=4)
    np.testing.assert_allclose(softmax(found), SINKHORN, rtol=0, atol=1e-4)
    assert found.argmax(axis=1).tolist() == [0, 1, 2, 3]
