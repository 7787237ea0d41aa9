"""The choice among ranked targets: the best of each group, and hits that differ from each other."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubless.errors import InputError, UnknownField, names_of
from hubless.measures.labelled_answers import DEPTH
from hubless.search.parts import Parts
from hubless.search.ranker import Question, Ranked, joined
from hubless.vectors.arrays import F32, I64, check_between, directions
from hubless.vectors.comparing import COSINE, comparison
from hubless.vectors.free_payload import is_free

DEEPEST_GROUPED = 5000
"""Targets that are looked through for groups, for each query; more only if more hits are wanted."""
MOST_DIVERSE = 1000
"""Hits of a diverse answer, as each costs a product with all candidates."""
_PER_HIT, _FEWEST, _MOST = 10, 100, 1000
"""Candidates of a diverse answer: so many for each hit, within these bounds."""
_PER_GROUP, _DEEPER = 4, 4
"""Targets for each group at first, and how many times as many after each look that found too few groups."""
_RANKED = 2**20
"""Targets of some queries that are ranked at once, or they would fill the memory."""


class Selection(NamedTuple):
    """The choice of hits: one for each value of the column `group_by`, if it is given, and by `diversity`."""

    parts: Parts
    group_by: str | None
    diversity: float

    def choose(self, asked: Question, k: int, most: int) -> tuple[Ranked, F32]:
        """Choose k hits of each query, of `most` that it can find; a line with fewer ends in rows of −1."""
        ranker = self.parts.ranker
        queries = len(asked.queries)
        wanted, depth, deepest = self._depths(k, most)
        chosen: dict[int, list[NDArray[Any]]] = {}
        corrected = None
        rescoring = 0.0
        best = np.full((queries, min(DEPTH, most)), -np.inf, np.float32)
        left = np.arange(queries)
        while len(left):
            for some in np.array_split(left, 1 + len(left) * depth // _RANKED):
                ranked = ranker.rank(asked.of(some), depth, min(DEPTH, most))
                scores = ranker.folded_scores(ranked, asked.strength)
                rescoring += ranked.rescoring
                if ranked.corrected is not None:
                    corrected = np.zeros(queries, np.bool_) if corrected is None else corrected
                    corrected[some] = ranked.corrected
                shown = min(best.shape[1], scores.shape[1])  # a rescorer may have fewer candidates
                best[some, :shown] = scores[:, :shown]
                for at, line in enumerate(some.tolist()):
                    places = self._firsts(ranked.rows[at])[:wanted]
                    if depth == deepest or len(places) == wanted:
                        chosen[line] = [column[at, places] for column in ranked[:4]]
            left, depth = left[[line not in chosen for line in left.tolist()]], min(_DEEPER * depth, deepest)
        lines = [chosen[line] for line in range(queries)]
        if self.diversity:
            lines = [self._spread(line, k) for line in lines]
        return joined(lines, max((len(line[0]) for line in lines), default=0), corrected, rescoring), best

    def _depths(self, k: int, most: int) -> tuple[int, int, int]:
        """Return how many targets are wanted of each query, how many are ranked at first, and at most."""
        wanted = k if not self.diversity else max(k, min(max(_PER_HIT * k, _FEWEST), _MOST))
        if self.group_by is None:
            return wanted, min(wanted, most), min(wanted, most)
        deepest = min(most, max(DEEPEST_GROUPED, wanted))
        return wanted, min(_PER_GROUP * wanted, deepest), deepest

    def _spread(self, line: list[NDArray[Any]], k: int) -> list[NDArray[Any]]:
        vectors, metric = self.parts.targets.vectors(line[0]), self.parts.manifest.metric
        best_first = diverse(line[1], vectors, k, self.diversity, metric)
        return [column[best_first] for column in line]

    def _firsts(self, rows: I64) -> I64:
        payload = self.parts.payload
        if self.group_by is None or payload is None:
            return np.arange(len(rows))
        seen: set[str] = set()
        firsts = []
        for place, row in enumerate(payload.take(rows, [self.group_by])):
            if (value := row.get(self.group_by)) is None:
                firsts.append(place)
            elif (key := repr(_exact(value))) not in seen:  # lists and objects cannot be in sets
                seen.add(key)
                firsts.append(place)
        return np.array(firsts, np.int64)


def _exact(value: Any) -> Any:
    """Return a value in which equal numbers look alike, as filters compare them: 3.0 as 3, and -0.0 as 0."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_exact(each) for each in value]
        case dict():
            return {name: _exact(each) for name, each in value.items()}
    return value


def selection(parts: Parts, group_by: str | None, diversity: float, limit: int) -> Selection:
    """Return how hits are to be chosen. Raises `InputError`, `UnknownField`."""
    check_between("diversity", diversity, 0, 1)
    if diversity and limit > MOST_DIVERSE:
        raise InputError("limit", f"at most {MOST_DIVERSE} with diversity, skipped hits included", limit)
    if group_by is not None:
        if not isinstance(group_by, str):
            raise InputError("group_by", "a column of the payload", repr(group_by))
        if (schema := parts.payload_schema) is None:
            none = f"none, as collection {parts.manifest.collection!r} has no payload"
            raise InputError("group_by", none, repr(group_by))
        if not is_free(schema) and group_by not in schema.names:
            raise UnknownField("group_by", f"a column of the payload, {names_of(schema.names)}", group_by)
    return Selection(parts, group_by, diversity)


def diverse(scores: F32, vectors: F32, k: int, diversity: float, metric: str = COSINE) -> list[int]:
    """Return places of candidates by maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998).

    The next is argmax of (1 − diversity) · score − diversity · (cosine to the nearest that is chosen).
    Under metric euclidean −½|t − t'|² takes the place of the cosine.
    """
    made = comparison(metric)
    rows = vectors if made.lifted else directions(vectors)
    asking = made.turned(rows)
    value = (1 - diversity) * scores.astype(np.float64)
    nearest = np.full(len(rows), -np.inf)
    chosen: list[int] = []
    while len(chosen) < min(k, len(rows)):
        best = int(np.argmax(value - diversity * nearest if chosen else scores))
        chosen.append(best)
        value[best] = -np.inf
        np.maximum(nearest, rows @ asking[best], out=nearest)
    return chosen
