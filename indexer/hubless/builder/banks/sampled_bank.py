"""A query bank of the live queries that the service sampled, if nothing speaks against it."""

import numpy as np

from hubless.builder.banks.bank_review import review
from hubless.builder.banks.thinning import held_out, thin
from hubless.corrections import Correction
from hubless.errors import InputError
from hubless.search.parts import Parts
from hubless.store.query_sample import QuerySample
from hubless.vectors.arrays import F32
from hubless.vectors.basis import as_compared
from hubless.vectors.sources import ArrayVectors, HeldVectors, in_memory


def sampled_bank(parts: Parts, sample: QuerySample, method: Correction) -> F32:
    """Return a bank (b, d) of sampled queries, thinned, with as many dimensions as vectors are given with.

    A third of the queries, at most 200, stays out of it. They compare the correction with what is served.
    """
    metric = parts.manifest.metric
    vectors = in_memory(as_compared(HeldVectors(sample.vectors, "query sample"), metric, parts.basis))
    rows, others = held_out(len(vectors), parts.manifest.provenance.seed)
    left = rows[thin(vectors[rows], parts.source, [sample.clients[row] for row in rows.tolist()]).rows]
    bank, fresh = (ArrayVectors(vectors[some], "query sample") for some in (left, others))
    served = parts.offsets if parts.is_folded else None
    found = review(bank, parts.source, metric, method, fresh, served)
    if not found.good:
        raise InputError("sampled", "live queries that the correction suits", " ".join(found.against))
    made: F32 = np.asarray(sample.vectors[left], np.float32)
    return made
