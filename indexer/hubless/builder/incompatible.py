"""Inputs that cannot be given together, and why. Every door, the page of all options and one test read this table."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hubless.builder.banks.payload_queries import payload_columns
from hubless.corrections import GIVEN, folds, is_given, registered
from hubless.corrections.fits import TAKES_PRIOR
from hubless.errors import refuse_given
from hubless.store.query_sample import holds_sample
from hubless.vectors.comparing import comparison

FAISS = "faiss"


class Incompatible(NamedTuple):
    """Parameters, or keys of a job file, that are refused beside another one, or where something else `holds`."""

    given: tuple[str, ...]
    beside: str
    expected: str
    holds: Callable[[Mapping[str, Any]], object] | None = None

    def check(self, settings: Mapping[str, Any]) -> None:
        """Raise `InputError` for the first that is given and may not be."""
        named = {name: settings.get(name.replace(" ", "_")) for name in self.given}
        if any(value is not None for value in named.values()):
            holds = self.holds(settings) if self.holds else settings.get(self.beside) is not None
            refuse_given(named if holds else {}, self.expected.format_map(settings))


def _takes_no_prior(settings: Mapping[str, Any]) -> bool:
    name = settings["correction"]
    return name != GIVEN and not hasattr(registered(name).method, "takes_prior")


def _fits_nothing(settings: Mapping[str, Any]) -> bool:
    name = settings["correction"]
    return name == "none" or is_given(name) or not folds(name)


def _is_made(settings: Mapping[str, Any]) -> bool:
    bank = settings["query_bank"]
    return isinstance(bank, str | Path) and (payload_columns(bank) is not None or holds_sample(bank))


_CHOSEN = "none beside clicks, which choose the prior and the strength"
_FITTED = f"none beside correction {GIVEN}, which fits nothing"
_FOLDED = "none beside correction {correction}, but one that folds into offsets, such as auto"
_OWN = "none, as the engine is {engine}, which has its own settings"

INCOMPATIBLE = (
    Incompatible(("target prior", "fit_by", "strength", "live queries"), "clicks", _CHOSEN),
    Incompatible(
        ("clicks", "target prior"),
        "a correction that takes no prior",
        f"none with this correction ({', '.join(TAKES_PRIOR)} take one)",
        _takes_no_prior,
    ),
    Incompatible(("target prior", "fit_by", "target bank", "clicks"), GIVEN, _FITTED),
    Incompatible(("fit_by", "publish"), "a correction that does not fold", _FOLDED, _fits_nothing),
    Incompatible(("fit_by",), "target_prior", "none beside a target prior, which is one for all groups"),
    Incompatible(("fit_by",), "target_bank", "none beside a target bank, which is one for all groups"),
    Incompatible(("strength",), "live_queries", "none beside live queries, which choose it"),
    Incompatible(
        ("memory", "latency", "shard_targets", "keep_full"),
        "another engine than faiss",
        _OWN,
        lambda settings: settings["engine"] != FAISS,
    ),
    Incompatible(
        ("dims",),
        "metric euclidean",
        "none, as distances of metric {metric} need all dimensions",
        lambda settings: comparison(settings["metric"]).lifted,
    ),
    Incompatible(
        ("keep_full",),
        "all dimensions",
        "dims beside it; without dims, all dimensions are kept anyway",
        lambda settings: settings["dims"] is None,
    ),
    Incompatible(("dims",), "publish", "none beside publish, which writes all dimensions"),
    Incompatible(("fit_by",), "publish", "none beside publish, as rows that come later need one fit for all"),
    Incompatible(
        ("relevant",),
        "no query bank",
        "none without a query bank, whose right targets it has",
        lambda settings: settings["query_bank"] is None,
    ),
    Incompatible(("relevant",), "live queries or texts", "none for queries of which a bank is made", _is_made),
)


def check_together(settings: Mapping[str, Any]) -> None:
    """Raise `InputError` for the first of some settings that may not be given beside another one."""
    for each in INCOMPATIBLE:
        each.check(settings)
