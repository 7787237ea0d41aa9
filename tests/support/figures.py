"""Numbers that papers show.

`RAW`, `DSL_FIRST_ROW` and `SINKHORN` are figure 1 of Yakovlev et al., SIGIR 2023: four queries (rows) and four targets.
It comes out at T = 1 and 4 steps. Its DSL scores are shown after one more softmax over each row.
"""

import numpy as np
from support.problems import Problem
from support.rankings import dense

RAW = np.array(
    [
        [0.268, 0.270, 0.226, 0.143],
        [0.251, 0.301, 0.253, 0.134],
        [0.232, 0.275, 0.255, 0.146],
        [0.158, 0.114, 0.133, 0.125],
    ]
)
DSL_FIRST_ROW = [0.2529, 0.2528, 0.2497, 0.2445]
SINKHORN = [
    [0.2549, 0.2521, 0.2470, 0.2461],
    [0.2486, 0.2579, 0.2517, 0.2419],
    [0.2458, 0.2533, 0.2542, 0.2467],
    [0.2507, 0.2368, 0.2471, 0.2654],
]


def figure_scores(name, **parameters):
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
