"""Turns targets to their principal directions before they are coded, and leaves out those that tell little.

Codes of 4 bits cover 4, 2 or 1 directions each, so that vectors of few dimensions have 64 codes, too: with fewer bits
many more candidates are needed. Each code gets directions of about the same information, and so does each half of a
code, which is a code where there are twice as many. The offset has a code of its own.

Source: Ge, He, Ke and Sun, "Optimized Product Quantization", IEEE TPAMI 2014, section 4.2 (eigenvalue allocation).
"""

import faiss
import numpy as np

from hubless.knn.augment import Columns
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.comparing import LENGTHS

CODES = 64
"""Fewest codes, as far as there are directions."""
LEAST_DIRECTIONS = 2 * CODES
"""Up to this number none is left out."""
_LEAST_SHARE = {4: 0.9, 2: 0.8, 1: 1.0}
"""Share of the variance that the leading half must hold, by directions a code. The fewer these are, the more the rest
gains in precision. Real embeddings of 512 dimensions hold 0.94 to 0.97; no structure 0.5."""
SMALLEST_VARIANCE = 1e-9
"""Share of the largest variance. A smaller variance counts as rounding."""


def most_codes(dim: int) -> int:
    """Return the most codes that a vector of `dim` dimensions can have."""
    return -(-dim // _directions_a_code(dim)) + 1


def has_halves(dim: int) -> bool:
    """Return whether the codes of vectors of `dim` dimensions cover several directions each, and can be halved."""
    return _directions_a_code(dim) > 1


def _directions_a_code(kept: int) -> int:
    return 4 if kept >= 4 * CODES else 2 if kept >= 2 * CODES else 1


def leading_directions(sample: F32, columns: Columns) -> tuple[faiss.LinearTransform, int]:
    """Return a transform of vectors (n, d') to the directions to code, the offset last, and how many share a code.

    The two lifted coordinates that a query multiplies by most get a code of their own, too, as one direction.
    """
    dim = columns.plain
    lifted = columns.folded > columns.plain
    centred = sample[:, :dim] - sample[:, :dim].mean(axis=0)
    variances, directions = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    variances = np.maximum(variances[::-1], max(SMALLEST_VARIANCE * variances[-1], np.finfo(np.float64).tiny))
    for kept in (max(dim // 2, min(dim, LEAST_DIRECTIONS)), dim):
        group = _directions_a_code(kept)
        kept -= kept % group
        if variances[:kept].sum() >= _LEAST_SHARE[group] * variances.sum():
            break
    matrix = np.zeros((kept + group * (1 + lifted), sample.shape[1]), np.float32)
    matrix[:kept, :dim] = directions.T[::-1][balanced_order(variances[:kept], group)]
    if lifted:
        matrix[kept, dim : dim + 2] = LENGTHS
    matrix[kept + group * lifted, columns.folded] = 1
    transform = faiss.LinearTransform(sample.shape[1], len(matrix), False)
    faiss.copy_array_to_vector(matrix.ravel(), transform.A)
    transform.is_trained = True
    return transform, group


def balanced_order(variances: F64, group: int) -> I64:
    """Return an order in which every `group` in a row has about the same product of variances (given descending).

    So have the halves of a group of 4: its largest stands beside its smallest.
    """
    groups: list[list[int]] = [[] for _ in range(len(variances) // group)]
    sums = np.zeros(len(groups))
    for place, bits in enumerate(np.log(variances / variances[-1])):
        free = [number for number, members in enumerate(groups) if len(members) < group]
        least = min(free, key=lambda number: sums[number])
        groups[least].append(place)
        sums[least] += bits
    halved = [0, 3, 1, 2] if group == 4 else list(range(group))
    return np.concatenate([np.array(members, np.int64)[halved] for members in groups])
