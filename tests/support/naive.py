"""The kernels again, obviously right: whole matrices, float64, no blocks, no tricks but the shift of a logarithm."""

import numpy as np


def similarities(rows, columns):
    return rows.astype(np.float64) @ columns.astype(np.float64).T


def log_sum_exp(exponents):
    shift = exponents.max(axis=-1, keepdims=True)
    return np.log(np.exp(exponents - shift).sum(axis=-1)) + shift[..., 0]


def softmax_offsets(bank, targets, temperature, potentials=0.0):
    """τ·LSE_i(q_i·t/τ + a_i), for each target."""
    return temperature * log_sum_exp(similarities(targets, bank) / temperature + potentials)


def top_k_mean(bank, targets, k):
    return np.sort(similarities(targets, bank), axis=1)[:, -k:].mean(axis=1)


def top_k(scores, k):
    """Scores and rows of the k best of each line, ties by the lower row, by sorting (−score, row) pairs."""
    rows = np.array([sorted(range(len(line)), key=lambda row, line=line: (-line[row], row))[:k] for line in scores])
    return np.take_along_axis(scores, rows, axis=1), rows


def sinkhorn_offsets(bank, targets, columns, temperature, iterations, prior=None):
    """−τ·log β of the targets, with Sinkhorn between bank and columns by the textbook, in logarithms.

    `prior` is the marginal of the columns, uniform by default. The targets' own is left out of the last half step.
    """
    logits = similarities(bank, columns) / temperature
    b, n = logits.shape
    c = np.zeros(n)
    for _ in range(iterations):
        a = -np.log(b) - log_sum_exp(logits + c)
        c = (-np.log(n) if prior is None else np.log(prior)) - log_sum_exp((logits + a[:, np.newaxis]).T)
    return softmax_offsets(bank, targets, temperature, a)


def entropies(exponents):
    """Entropy of the softmax along the last axis, −Σ p log p, in nats."""
    p = np.exp(exponents - log_sum_exp(exponents)[..., np.newaxis])
    return -np.sum(p * np.log(np.where(p > 0, p, 1)), axis=-1)


def perplexity(bank, targets, temperature):
    """exp of the mean entropy of the softmax over the bank: effective bank queries per target."""
    return np.exp(entropies(similarities(targets, bank) / temperature).mean())


def skewness(occurrence):
    deviations = np.asarray(occurrence, np.float64) - np.mean(occurrence)
    return np.mean(deviations**3) / np.mean(deviations**2) ** 1.5


def occurrence(scores, k):
    """N_k of each column of scores (m, n)."""
    _, rows = top_k(scores, k)
    return np.array([np.count_nonzero(rows == column) for column in range(scores.shape[1])])


def ranks(scores, relevant):
    """Rank of the best relevant column of each line, averaged over those that score the same."""
    places = []
    for line, right in zip(scores, relevant, strict=True):
        descending = sorted(line.tolist(), reverse=True)
        best = max(line.tolist()[column] for column in right)
        places.append(np.mean([place for place, score in enumerate(descending, 1) if score == best]))
    return np.array(places)


def rise(values, low, high):
    u = np.clip((values - low) / (high - low), 0, 1)
    return 3 * u**2 - 2 * u**3


def likeness(bank, targets):
    """How much the bank's queries are alike: spread of the targets' mean similarities, of that of all."""
    found = similarities(bank, targets)
    return found.mean(axis=0).std() / found.std()


def locality(bank, targets):
    """Correlation, over targets, of the mean of their similarities to the bank and the spread of these."""
    found = similarities(bank, targets)
    return np.corrcoef(found.mean(axis=0), found.std(axis=0))[0, 1]


def linear_part(offsets, targets, components=10):
    """The part of offsets that is linear in the first principal components of the targets, less its mean."""
    centred = targets.astype(np.float64) - targets.mean(axis=0, dtype=np.float64)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    products = centred @ axes[:components].T
    return products @ np.linalg.lstsq(products, offsets - offsets.mean(), rcond=None)[0]
