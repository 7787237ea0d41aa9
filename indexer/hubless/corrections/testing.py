"""Checks that every correction has to pass, for pytest: ours pass them, and those of other packages should.

    from hubless.corrections.testing import CorrectionChecks
    from my_package import Mine

    class TestMine(CorrectionChecks):
        correction = Mine

A check fails with what NumPy's `testing` says. Problems are made up, and have hubs.
"""

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, get_args
from unittest import TestCase, mock

import numpy as np
from numpy.typing import NDArray

from hubless.corrections import Registered
from hubless.corrections.base import FittedCorrection, Rows, StateArrays, under
from hubless.corrections.installed import as_registered
from hubless.corrections.query_time import Candidates, Rescorer
from hubless.errors import DimensionMismatch, InputError
from hubless.kernels import reductions, similarities, streaming
from hubless.measures.repeats import without_copies
from hubless.vectors.arrays import F32
from hubless.vectors.comparing import OF_QUERIES, OF_TARGETS, Metric
from hubless.vectors.sources import ArrayVectors, SelectedVectors, StackedVectors, StreamedVectors, under_metric

CLOSE = 1e-6
"""Offsets of order 1 that are computed in another order are this near to each other."""
ALONE = (0, 1, 31, 32, 50, 79)
WRONG = (float("nan"), True, "no such value")
"""Values that no parameter takes."""


@dataclass(frozen=True)
class MadeUpProblem:
    """Targets (n, d), query bank (b, d), target bank (g, d) and live queries (m, d), float32."""

    targets: F32
    bank: F32
    target_bank: F32
    queries: F32


def with_hubs(
    targets: int = 80, bank: int = 150, target_bank: int = 90, queries: int = 20, dim: int = 12, seed: int = 0
) -> MadeUpProblem:
    """Return a problem with so many rows each: all queries lean to one side, and some targets more than others."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=dim) / np.sqrt(dim)

    def rows(count: int, varying: bool) -> F32:
        noise = rng.normal(size=(count, dim)) / np.sqrt(dim)
        lean = rng.normal(size=(count, 1)) if varying else np.full((count, 1), 0.7)
        made: F32 = (noise + lean * common).astype(np.float32)
        return made

    return MadeUpProblem(rows(targets, True), rows(bank, False), rows(target_bank, True), rows(queries, False))


@contextmanager
def small_blocks() -> Iterator[None]:
    """Let the kernels read 5 targets by 7 bank queries at a time, in strips of 3; sizes 4 to 15 straddle them."""
    with (
        mock.patch.multiple(streaming, TARGET_ROWS=5, BANK_ROWS=7, STRIP_SIZE=21, RESIDENT_BYTES=0),
        mock.patch.multiple(reductions, TARGET_ROWS=5, STRIP_SIZE=16),
        mock.patch.multiple(similarities, STRIP_SIZE=16, FACTORS_SIZE=16),
    ):
        yield


class CorrectionChecks:
    """Checks of a correction, whatever its formula. Set `correction`, and `parameters` if it needs some."""

    correction: ClassVar[type[Any]]
    parameters: ClassVar[Mapping[str, Any]] = {}
    problem = with_hubs()

    @property
    def kind(self) -> Registered:
        """The class with its `fitted` form, and `live` if it has one."""
        return as_registered(self.correction)

    def fit(self, problem: MadeUpProblem | None = None, **parameters: Any) -> FittedCorrection:
        given = problem or self.problem
        method = self.kind.method(**{**self.parameters, **parameters})
        fitted: FittedCorrection = method.fit(given.bank, given.targets, given.target_bank)
        return fitted

    def offsets(self, problem: MadeUpProblem | None = None) -> F32:
        return self.fit(problem).offsets((problem or self.problem).targets)

    def test_offsets_are_one_finite_number_a_target(self) -> None:
        found = self.offsets()
        assert found.dtype == np.float32
        assert found.shape == (len(self.problem.targets),)
        assert np.isfinite(found).all()

    def test_offset_of_a_row_alone_is_its_offset_in_the_batch(self) -> None:
        fitted = self.fit()
        together = fitted.offsets(self.problem.targets)
        alone = [fitted.offsets(self.problem.targets[row : row + 1])[0] for row in ALONE]
        _close(alone, together[list(ALONE)])

    def test_permuting_targets_permutes_offsets(self) -> None:
        order = np.random.default_rng(0).permutation(len(self.problem.targets))
        permuted = replace(self.problem, targets=self.problem.targets[order])
        _close(self.offsets(permuted), self.offsets()[order])

    def test_turning_the_banks_round_changes_nothing_under_any_metric(self) -> None:
        """With copies, and queries of one direction and half the length, as a build takes them."""
        given = self.problem
        log = np.concatenate([given.bank, given.bank[:30], given.bank[:20] / 2])
        for metric in get_args(Metric):
            method = under(self.kind.method(**self.parameters), metric)
            found = []
            for way in (1, -1):
                bank = under_metric(ArrayVectors(log[::way], "query bank"), metric, OF_QUERIES)
                of_targets = given.targets, given.target_bank[::way]
                targets, extra = (
                    under_metric(ArrayVectors(rows, "targets"), metric, OF_TARGETS) for rows in of_targets
                )
                found.append(method.fit(without_copies(bank, metric=metric), targets, extra).offsets(targets))
            _close(found[0], found[1], metric)

    def test_block_sizes_change_nothing(self) -> None:
        expected = self.offsets()
        with small_blocks():
            _close(self.offsets(), expected)

    def test_arrays_mapped_files_and_sources_give_the_same_offsets(self, tmp_path: Path) -> None:
        expected = self.offsets()
        for kind in (_mapped, _streamed, _shards, _selection):
            given: dict[str, Any] = {
                name: kind(getattr(self.problem, name), tmp_path / f"{name}.npy")
                for name in ("targets", "bank", "target_bank")
            }
            found = self.offsets(replace(self.problem, **given))
            _close(found, expected, kind.__name__)

    def test_state_goes_through_arrays_and_json_and_gives_the_same_offsets(self) -> None:
        fitted = self.fit()
        restored = self.kind.fitted.from_state(_through_a_file(fitted.state()), _through_json(fitted.details))
        new = with_hubs(targets=9, seed=5).targets
        np.testing.assert_array_equal(restored.offsets(new), fitted.offsets(new))
        assert restored.details == fitted.details

    def test_bank_of_another_dimension_is_refused_naming_both(self) -> None:
        for which, name in (("bank", "query bank"), ("target_bank", "target bank")):
            narrow = replace(self.problem, **{which: getattr(self.problem, which)[:, :11]})
            with TestCase().assertRaisesRegex(DimensionMismatch, f"^{name}: expected 12 dimensions, as .* has, got 11"):
                self.fit(narrow)

    def test_wrong_parameters_are_refused_by_name(self) -> None:
        for parameter in fields(self.kind.method):
            for wrong in WRONG:
                with TestCase().assertRaisesRegex(InputError, f"^{parameter.name}: expected "):
                    self.kind.method(**{**self.parameters, parameter.name: wrong})

    def test_what_it_does_to_live_queries_is_restored_from_arrays(self) -> None:
        """Scores of queries by what was restored are those by what was fitted."""
        near = _of_length_one(replace(self.problem, bank=self.problem.target_bank))
        fitted = self.fit(near)
        live = fitted.query_time(near.targets)
        if live is None:
            return
        assert self.kind.live, f"the class has no `live`, and its query_time gives {type(live).__name__}"
        arrays = _through_a_file({**fitted.state(), **live.arrays()})
        restored = self.kind.live.from_arrays(arrays, _through_json(fitted.details))
        similar = near.queries @ near.targets.T
        if not isinstance(live, Rescorer) or not isinstance(restored, Rescorer):
            for name, values in live.arrays().items():
                np.testing.assert_array_equal(restored.arrays()[name], values, err_msg=name)
            return
        rows = np.arange(len(near.targets))
        for query, line in zip(near.queries, similar, strict=True):
            candidates = Candidates(rows, line, lambda: near.targets)
            scores = live.scores(query, candidates)
            assert np.isfinite(scores).all()
            np.testing.assert_array_equal(restored.scores(query, candidates), scores)


def _close(found: Any, expected: F32, said: str = "") -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=CLOSE, err_msg=said)


def _of_length_one(problem: MadeUpProblem) -> MadeUpProblem:
    return MadeUpProblem(
        **{name: rows / np.linalg.norm(rows, axis=1, keepdims=True) for name, rows in vars(problem).items()}
    )


def _through_a_file(arrays: StateArrays) -> dict[str, NDArray[Any]]:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    file.seek(0)
    with np.load(file, allow_pickle=False) as read:
        return dict(read)


def _through_json(details: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(details, allow_nan=False))


def _mapped(rows: F32, path: Path) -> Any:
    np.save(path, rows)
    return np.load(path, mmap_mode="r")


def _streamed(rows: F32, path: Path) -> Rows:
    return StreamedVectors(lambda: iter(np.array_split(rows, 7)), rows.shape, path.name)


def _shards(rows: F32, path: Path) -> Rows:
    return StackedVectors([ArrayVectors(part, path.name) for part in np.array_split(rows, 3)], path.name)


def _selection(rows: F32, path: Path) -> Rows:
    spread = np.repeat(rows, 2, axis=0)
    return SelectedVectors(ArrayVectors(spread, path.name), np.arange(0, len(spread), 2), path.name)
