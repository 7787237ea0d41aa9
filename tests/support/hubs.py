"""Queries and targets of which it is known who is a hub."""

import numpy as np

DIM, TOPICS = 64, 12


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def captions(rng, *apart):
    """Targets, 40 images, and for each distance five captions of an image, which want the same target."""
    targets, images = (unit(rng.normal(size=(count, DIM))) for count in (600, 40))
    return targets, images, *(unit(np.repeat(images, 5, axis=0) + each * rng.normal(size=(200, DIM))) for each in apart)


def pairs(count, seed=0, apart=0.0, common=0.5):
    """Queries and targets of the same topics, a query near its own target.

    `apart` moves queries away from targets, as between two encoders; `common` is what all have in common.
    """
    rng = np.random.default_rng(seed)
    topics, shared = rng.normal(size=(TOPICS, DIM)), rng.normal(size=DIM)
    topic = rng.integers(TOPICS, size=count)
    meaning = 1.2 * topics[topic] + rng.normal(size=(count, DIM)) + common * shared
    away = apart * rng.normal(size=DIM)
    queries = meaning + 0.6 * rng.normal(size=(count, DIM)) + away
    targets = meaning + 0.6 * rng.normal(size=(count, DIM))
    return unit(queries), unit(targets), topic


def leaning(spread, lean, count, seed=0):
    """Queries and their targets, of which all queries lean one way, and targets more or less, by an exponential law."""
    rng = np.random.default_rng(seed)
    meaning, way = rng.normal(size=(40, DIM))[rng.integers(40, size=count)], np.eye(DIM)[0]
    meaning += rng.normal(size=meaning.shape)
    targets = meaning + spread * rng.exponential(size=(count, 1)) * way
    return unit(meaning + rng.normal(size=meaning.shape) + lean * way), unit(targets)


def foreign(count=300, seed=3):
    """Queries about three other things than the pairs."""
    rng = np.random.default_rng(seed)
    return unit(0.6 * rng.normal(size=(count, DIM)) + 2 * rng.normal(size=(3, DIM))[rng.integers(3, size=count)])


def planted(targets, vector, count, seed=1):
    """The targets, and at their end `count` planted copies of a vector, slightly changed."""
    rng = np.random.default_rng(seed)
    copies = unit(np.repeat(vector[np.newaxis], count, 0)) + 0.003 * rng.normal(size=(count, targets.shape[1]))
    return np.concatenate([targets, unit(copies)])


def with_victim(row, seed=5, dim=32):
    """Targets (400, d), 360 honest queries, 20 that want the target of a row, and 260 that are made to bury it."""
    rng = np.random.default_rng(seed)
    meaning, common = rng.normal(size=(400, dim)), 2.5 * np.eye(dim)[0]
    targets = unit(meaning + rng.normal(size=(400, 1)) * common / 2)  # those that lean to what is common are hubs

    def asked_for(rows):
        return unit(meaning[rows] + 0.6 * rng.normal(size=(len(rows), dim)) + common)

    honest, wanting = asked_for(rng.permutation(400)[:360]), asked_for(np.full(20, row))
    return targets, honest, wanting, unit(targets[row] + 0.08 * rng.normal(size=(260, dim)))
