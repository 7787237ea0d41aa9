"""What `tune` tries: corrections with their parameters, from the simplest and weakest to the strongest."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

from hubless.corrections import CORRECTIONS, QUERY_TIMES
from hubless.errors import InputError
from hubless.lab.experiments.methods import Method

NEIGHBOURS = (1, 4, 16, 64, 128, 256)
WEIGHTS = (0.25, 0.5, 0.75, 1.0)
PERPLEXITIES = (200, 100, 50, 20, 10, 5)
"""From soft to sharp: fewer effective bank queries a target make a stronger correction."""

NEED_TARGET_BANK = ("dual_is", "dbsn")

Parameters = dict[str, Any]
Grid: TypeAlias = Mapping[str, Sequence[Any]]
"""Values of each parameter; every combination is tried, in this order."""

PRESETS: dict[str, Grid] = {
    "nnn": {"k": tuple(2**power for power in range(10)), "weight": tuple(0.25 + step / 8 for step in range(11))}
}
"""Large grids by the name of their correction. The NNN paper tries 11 × 10 settings; that these are its values was not
checked."""
_WITHIN_BANK = ("nnn", "csls", "ls", "nicdm", "mp")
"""Corrections whose k counts bank queries."""


def _defaults(bank: int) -> list[Parameters]:
    return [{}]


def _neighbours(bank: int) -> list[int]:
    """Up to half the bank: all of it would be its mean."""
    return [k for k in NEIGHBOURS if k <= bank / 2] or [1]


def _perplexities(bank: int) -> list[Parameters]:
    return [{"perplexity": perplexity} for perplexity in PERPLEXITIES if perplexity <= bank / 2] or [{}]


GRIDS: dict[str, Callable[[int], list[Parameters]]] = {
    "none": _defaults,
    "auto": _defaults,
    "cent": lambda bank: [{"weight": weight} for weight in WEIGHTS],
    "dn": lambda bank: [{"weight": weight} for weight in WEIGHTS],
    "csls": lambda bank: [{"k": k} for k in _neighbours(bank)],
    "nnn": lambda bank: [{"k": k, "weight": weight} for weight in WEIGHTS if weight != 0.5 for k in _neighbours(bank)],
    "is": _perplexities,
    "sn": _perplexities,
    "dual_is": lambda bank: [{"query_temperature": "auto", "target_temperature": other} for other in ("auto", 1.0)],
    "dbsn": _perplexities,
    "dis": _perplexities,
    "dsl": _perplexities,
    "ls": lambda bank: [{"k": k} for k in _neighbours(bank)],
    "nicdm": lambda bank: [{"k": k} for k in _neighbours(bank)],
}
"""In the order of simplicity; others are tried with their defaults. Nothing of `none` and `auto` is chosen by labels;
`csls` is `nnn` of weight ½."""


def grid_methods(
    bank: int, target_bank: bool, names: Iterable[str] | None = None, grids: Mapping[str, Grid] | None = None
) -> list[Method]:
    """All that fold into the index, or those of the named corrections; `none` is always the first.

    Parameters
    ----------
    bank : rows of the smallest query bank
    target_bank : whether there is one; without it, methods that need it are tried only if they are named
    names : None with `grids` are those that have one
    grids : values to try instead of the usual ones, by correction. Settings whose k exceeds the bank are left out

    Raises
    ------
    InputError
        for a name that is no correction, an unknown parameter or a refused value, and a grid of which nothing is left.
    """
    own = grids or {}
    names = list(own) if names is None and own else names
    if names is None:
        foldable = [name for name in GRIDS if name not in QUERY_TIMES]
        wanted = [name for name in foldable if target_bank or name not in NEED_TARGET_BANK]
    else:
        asked = ["none", *names]
        for name in asked:
            if name not in CORRECTIONS:
                raise InputError("correction", f"one of {', '.join(CORRECTIONS)}", name)
        wanted = [name for name in GRIDS if name in asked] + [name for name in asked if name not in GRIDS]
    if unused := [name for name in own if name not in wanted]:
        raise InputError("grid", f"one of the corrections that are tried, {', '.join(wanted)}", unused[0])
    return [
        Method(name, parameters)
        for name in dict.fromkeys(wanted)
        for parameters in (_combined(name, own[name], bank) if name in own else GRIDS.get(name, _defaults)(bank))
    ]


def left_out_of_grids(grids: Mapping[str, Grid], bank: int) -> list[str]:
    """What is to be said of settings that a bank of this size is too small for."""
    return [
        f"{name}: k above the {bank} queries of the bank is left out"
        for name, grid in grids.items()
        if name in _WITHIN_BANK and any(k > bank for k in grid.get("k", ()))
    ]


def _combined(name: str, grid: Grid, bank: int) -> list[Parameters]:
    settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    for parameters in settings:
        Method(name, parameters).check()
    if name in _WITHIN_BANK:
        settings = [parameters for parameters in settings if parameters.get("k", 1) <= bank]
    if not settings:
        raise InputError(f"grid of {name}", f"a k of at most the {bank} queries of the bank", "none")
    return settings
