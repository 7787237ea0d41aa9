"""Methods that take part in an experiment: corrections and plans, by name and parameters."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from hubless.corrections import CORRECTIONS, GIVEN, Correction, correction as make_correction, folds, is_given
from hubless.errors import InputError
from hubless_lab.experiments.trials import Scorer, Trial

DEFAULT_CORRECTIONS = ("none", "csls", "nnn", "is", "sn", "dbsn", "auto")
PLAN_NAMES = ("otn", "l2n", "hn", "dsl_whole", "sinkhorn_whole")

_NEIGHBOURS = (1, 4, 16, 64, 128, 256)
WEIGHTS = (0.25, 0.5, 0.75, 1.0)
PERPLEXITIES = (200, 100, 50, 20, 10, 5)
"""From soft to sharp: fewer effective bank queries a target make a stronger correction."""
NEED_TARGET_BANK = ("dual_is", "dbsn")
_WITHIN_BANK = ("nnn", "csls", "dissimlocal", "ls", "nicdm", "mp")
"""Corrections whose k counts bank queries."""

Parameters: TypeAlias = Mapping[str, Any]
Grid: TypeAlias = Mapping[str, Sequence[Any]]
"""Values of each parameter; every combination is tried, in this order."""


@dataclass(frozen=True)
class Method:
    """A method that takes part. One that is `optional` is left out where the banks are not what it needs."""

    name: str
    parameters: Parameters = field(default_factory=dict)
    optional: bool = False

    @property
    def label(self) -> str:
        return " ".join([self.name, *(f"{key}={value}" for key, value in self.parameters.items())])

    def correction(self) -> Correction:
        return make_correction(self.name, self.parameters)

    def check(self) -> None:
        """Raise `InputError` for an unknown name or parameter."""
        if is_given(self.name) and ":" in self.name:
            return
        if self.name not in known_names():
            raise InputError("correction", f"one of {', '.join(known_names())}", self.name)
        if self.name in CORRECTIONS:
            self.correction()
        else:
            self._function()

    def fit(self, trial: Trial) -> Scorer:
        """Fit the method to the banks of a trial. Raises `InputError` if these are not what it needs."""
        if is_given(self.name):
            return trial.with_offsets(self.name.removeprefix(f"{GIVEN}:"))
        if self.name in PLAN_NAMES:
            return Scorer(np.zeros(len(trial.targets), np.float32), None, {}, self._function())
        return trial.fit(self.correction())

    def _function(self) -> Callable[..., Any]:
        from hubless_lab.plans import WHOLE_MATRIX  # an extra

        function: Callable[..., Any] = WHOLE_MATRIX[self.name]
        known = list(inspect.signature(function).parameters)[1:]
        for parameter in self.parameters:
            if parameter not in known:
                expected = f"one of {', '.join(known)}" if known else "no parameters"
                raise InputError(f"parameter of {self.name}", expected, parameter)
        return partial(function, **self.parameters)


def known_names() -> tuple[str, ...]:
    """Return the names of all methods, those of installed packages among them."""
    return (*CORRECTIONS, *PLAN_NAMES)


Methods: TypeAlias = Sequence[str | tuple[str, Parameters] | Method] | Mapping[str, Parameters]
"""Names of methods, or pairs of a name and its parameters, or parameters by name."""


def as_methods(given: Methods | None) -> list[Method]:
    """Return methods, by default those of the papers that fold into the index: each of these may be left out.

    Raises `InputError` for an unknown name or parameter.
    """
    if isinstance(given, str):
        raise InputError("corrections", "a list of names", repr(given))
    pairs = given.items() if isinstance(given, Mapping) else given
    made = [
        one if isinstance(one, Method) else Method(*((one,) if isinstance(one, str) else one)) for one in pairs or ()
    ]
    by_label = {one.label: one for one in made or [Method(name, optional=True) for name in DEFAULT_CORRECTIONS]}
    for method in by_label.values():
        method.check()
    return list(by_label.values())


def grid_methods(
    bank: int, target_bank: bool, names: Iterable[str] | None = None, grids: Mapping[str, Grid] | None = None
) -> list[Method]:
    """Return what `tune` tries, from the simplest and weakest to the strongest; `none` is always the first.

    Without names: those with a grid of their own, or all that fold and lack no bank. A k above `bank` is left out.
    Raises `InputError` for an unknown name, and a grid of a correction that is not tried.
    """
    own = grids or {}
    named = names is not None or own
    wanted = _in_order(own if names is None else names) if named else _folding(target_bank)
    if unused := [name for name in own if name not in wanted]:
        raise InputError("grid", f"one of the corrections that are tried, {', '.join(wanted)}", unused[0])
    return [
        Method(name, parameters)
        for name in wanted
        for parameters in (_combined(name, own[name], bank) if name in own else GRIDS.get(name, _defaults)(bank))
    ]


def _folding(target_bank: bool) -> list[str]:
    return [name for name in GRIDS if folds(name) and (target_bank or name not in NEED_TARGET_BANK)]


def _in_order(names: Iterable[str]) -> list[str]:
    """Return `none` and the named corrections, from the simplest to the strongest, each once."""
    asked = dict.fromkeys(["none", *names])
    for name in asked:
        if name not in CORRECTIONS:
            raise InputError("correction", f"one of {', '.join(CORRECTIONS)}", name)
    return sorted(asked, key=lambda name: [*GRIDS, name].index(name))


def left_out_of_grids(grids: Mapping[str, Grid], bank: int) -> list[str]:
    """Return notes on settings that a bank of this size is too small for."""
    return [
        f"{name}: k above the {bank} queries of the bank is left out"
        for name, grid in grids.items()
        if name in _WITHIN_BANK and any(k > bank for k in grid.get("k", ()))
    ]


def _combined(name: str, grid: Grid, bank: int) -> list[Parameters]:
    settings: list[Parameters] = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    for parameters in settings:
        Method(name, parameters).check()
    if name in _WITHIN_BANK:
        settings = [parameters for parameters in settings if parameters.get("k", 1) <= bank]
    if not settings:
        raise InputError(f"grid of {name}", f"a k of at most the {bank} queries of the bank", "none")
    return settings


def _defaults(bank: int) -> list[Parameters]:
    return [{}]


def _weights(bank: int) -> list[Parameters]:
    return [{"weight": weight} for weight in WEIGHTS]


def _neighbours(bank: int) -> list[Parameters]:
    """Return up to half the bank: all of it would be its mean."""
    return [{"k": k} for k in _NEIGHBOURS if k <= bank / 2] or [{"k": 1}]


def _perplexities(bank: int) -> list[Parameters]:
    return [{"perplexity": perplexity} for perplexity in PERPLEXITIES if perplexity <= bank / 2] or [{}]


GRIDS: dict[str, Callable[[int], list[Parameters]]] = {
    "none": _defaults,
    "auto": _defaults,
    "cent": _weights,
    "dn": _weights,
    "csls": _neighbours,
    "nnn": lambda bank: [{**k, "weight": weight} for weight in WEIGHTS if weight != 0.5 for k in _neighbours(bank)],
    "is": _perplexities,
    "sn": _perplexities,
    "dual_is": lambda bank: [{"query_temperature": "auto", "target_temperature": other} for other in ("auto", 1.0)],
    "dbsn": _perplexities,
    "dis": _perplexities,
    "dsl": _perplexities,
    "ls": _neighbours,
    "nicdm": _neighbours,
}
"""In the order of simplicity; others are tried with their defaults. Nothing of `none` and `auto` is chosen by labels;
`csls` is `nnn` of weight ½."""
