"""Corrections that take part in a comparison, by name and parameters."""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from hubless.corrections import CORRECTIONS, Correction
from hubless.corrections import correction as make_correction
from hubless.errors import InputError
from hubless.lab.experiments.trials import Plan, Scorer, Trial

DEFAULT_CORRECTIONS = ("none", "csls", "nnn", "is", "sn", "dbsn", "auto")

PLAN_NAMES = {
    "otn": "otn",
    "l2n": "l2n",
    "hn": "hn",
    "sn_whole": "sn",
    "dsl_whole": "dsl",
    "sinkhorn_whole": "sinkhorn",
}
"""Functions of `hubless.lab.plans` by their names here, where `sn`, `dsl` and `sinkhorn` are corrections."""
KNOWN = (*CORRECTIONS, *PLAN_NAMES)

Named: TypeAlias = tuple[str, Mapping[str, Any]]
"""A name and its parameters."""


@dataclass(frozen=True)
class Method:
    """A correction that takes part. One that is `optional` is left out where the banks are not what it needs."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    optional: bool = False

    @property
    def label(self) -> str:
        """Name and parameters: `nnn k=16`."""
        return " ".join([self.name, *(f"{key}={value}" for key, value in self.parameters.items())])

    def correction(self) -> Correction:
        """The correction with these parameters.

        Raises
        ------
        InputError
            naming the known corrections or parameters.
        """
        return make_correction(self.name, self.parameters)

    def check(self) -> None:
        """Raise `InputError` for an unknown name or parameter, naming the known ones, or a value that is refused."""
        if self.name not in KNOWN:
            raise InputError("correction", f"one of {', '.join(KNOWN)}", self.name)
        if self.name in PLAN_NAMES:
            self._plan()
        else:
            self.correction()

    def fit(self, trial: Trial) -> Scorer:
        """What scores the targets of a trial.

        Raises
        ------
        InputError
            if the banks are not what the correction needs.
        """
        if self.name in PLAN_NAMES:
            return Scorer.of_plan(self._plan(), len(trial.targets))
        return trial.fit(self.correction())

    def _plan(self) -> Plan:
        from hubless.lab.plans import WHOLE_MATRIX as PLANS  # an extra

        function = PLANS[PLAN_NAMES[self.name]]
        known = list(inspect.signature(function).parameters)[1:]
        for parameter in self.parameters:
            if parameter not in known:
                expected = f"one of {', '.join(known)}" if known else "no parameters"
                raise InputError(f"parameter of {self.name}", expected, parameter)
        return partial(function, **self.parameters)


def default_methods() -> list[Method]:
    """What is compared when nothing is asked for: the raw ranking and the foldable methods of the papers."""
    return [Method(name, optional=True) for name in DEFAULT_CORRECTIONS]


def parse_methods(names: Iterable[str | Named] | None, settings: Mapping[str, Mapping[str, Any]]) -> list[Method]:
    """Entries by name, the default ones if none is named, with the parameters that are set for them.

    Parameters
    ----------
    names : names, or pairs of a name and its own parameters, which precede those in `settings`. A name may come again
        with other parameters

    Raises
    ------
    InputError
        for an unknown name or parameter, and for a setting of a correction that takes no part.
    """
    wanted = [(one, {}) if isinstance(one, str) else one for one in names or DEFAULT_CORRECTIONS]
    taking_part = list(dict.fromkeys(name for name, _ in wanted))
    for name in settings:
        if name not in taking_part:
            known = f"one of the corrections that take part, {', '.join(taking_part)}"
            raise InputError("set", known if name in KNOWN else f"one of {', '.join(KNOWN)}", name)
    entries = [
        Method(name, {**settings.get(name, {}), **parameters}, optional=not names and name not in settings)
        for name, parameters in wanted
    ]
    for entry in entries:
        entry.check()
    return list({entry.label: entry for entry in entries}.values())
