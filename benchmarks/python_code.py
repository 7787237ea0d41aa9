"""Vectors of Python functions in a folder, for other benchmarks: `python -m benchmarks.python_code FOLDER ROOT ...`.

`targets.npy` has the sources of all functions below the roots, `queries.npy` the documentation of others, encoded as
the demo does, in 512 dimensions. 100,000 functions take ten minutes.
"""

import argparse
from pathlib import Path

import numpy as np

from hubless.demo import training
from hubless.demo.pairs import Library, find_pairs
from hubless.errors import UnknownWords

DIM, TRAINED, QUERIES, CHARACTERS = 512, 20_000, 4000, 2000


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("root", type=Path, nargs="+")
    given = parser.parse_args(arguments)
    found = {}
    for root in given.root:
        for file in sorted(root.rglob("*.py")):
            for pair in pairs_of(file, root):
                found.setdefault(pair.code[:CHARACTERS], pair)
    trained = min(TRAINED, len(found) // 2)
    order = np.random.default_rng(0).permutation(len(found))
    pairs = list(found.values())
    training.DIMENSIONS = DIM
    encoders = training.train([pairs[place] for place in order[:trained]])
    code = encoders.code.encode(list(found))
    given.folder.mkdir(parents=True, exist_ok=True)
    np.save(given.folder / "targets.npy", code[code.any(axis=1)])  # without functions of unknown words only
    queries = [encoded(encoders.text, pairs[place].doc) for place in order[trained : trained + QUERIES]]
    np.save(given.folder / "queries.npy", np.concatenate(queries))


def pairs_of(file, root):
    """Return the functions of a file, one for each documentation."""
    return find_pairs(Library(root.name, root, (file,)))


def encoded(encoder, text):
    """Return the vector of a text, or none."""
    try:
        return encoder.encode([text])
    except UnknownWords:
        return np.empty((0, DIM), np.float32)


if __name__ == "__main__":
    main()
