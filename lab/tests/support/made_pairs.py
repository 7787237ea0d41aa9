"""Pairs of documentation and code that nobody wrote."""

import numpy as np

from hubless_demo.pairs import Pair

TOPICS = ["file", "socket", "thread", "string", "number", "list", "date", "process"]
VERBS = ["open", "close", "read", "write", "count", "sort", "join", "split"]


def make_pairs(count, seed=0):
    """Functions whose code has words of its own for each word of the documentation: learnable, and not by copying."""
    random = np.random.default_rng(seed)
    pairs = []
    for number in range(count):
        verb, topic = random.choice(VERBS), random.choice(TOPICS)
        noise = " ".join(f"n{word}" for word in random.integers(0, 40, 3))
        pairs.append(
            Pair(
                name=f"made.{verb}_{topic}_{number}",
                module="made",
                file="made.py",
                line=number + 1,
                doc=f"{verb} the {topic} item{number} {noise}",
                code=f"def {verb[::-1]}X({topic[::-1]}_y):\n    return code{number} + {noise.replace(' ', ' + ')}\n",
            )
        )
    return pairs
