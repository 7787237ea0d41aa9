"""Figure 1 of Yakovlev et al., SIGIR 2023: four queries and four targets, T = 1.

The rows of its matrix are the queries. Each is in turn the live query, with the other three as the bank; so all four
problems are of one matrix. Targets are its columns, so that the similarity to the i-th unit vector is row i. The
figure shows the DSL scores after one more softmax over each row, and the Sinkhorn plan with rows that sum to 1.
"""

import numpy as np
from support.figures import SINKHORN, figure_scores, softmax


def test_single_query_sinkhorn_gives_the_figures_numbers():
    found = figure_scores("sinkhorn", iterations=4)
    np.testing.assert_allclose(softmax(found), SINKHORN, rtol=0, atol=1e-4)
    assert found.argmax(axis=1).tolist() == [0, 1, 2, 3]
