"""How the command that runs is given a parameter, so that advice names only options that it has."""

import json
import shlex
from collections.abc import Collection, Iterable
from contextvars import ContextVar

from hubless.errors import ASKED_BY

SET = "--set"
_OPTIONS: ContextVar[Collection[str]] = ContextVar("options", default=())
SETTINGS: ContextVar[Collection[str]] = ContextVar("settings", default=())
"""Names that the command reads from `--set`."""


def asked_by_command(options: Iterable[str]) -> None:
    """Let advice name the options of a command, such as `--ids`, and later those of `SETTINGS`."""
    _OPTIONS.set([*options])
    ASKED_BY.set(as_option)


def as_option(parameter: str, value: object) -> str | None:
    """Return how the command takes a parameter: by an option, or by `--set`; None if it does not."""
    name = parameter.partition(".")[0]
    text = "FILE" if value is None else json.dumps(value) if isinstance(value, bool) else str(value)
    if (option := f"--{name.replace('_', '-')}") in _OPTIONS.get():
        return option if value in (None, True) else shlex.join([option, text])
    if name in SETTINGS.get() and "=" not in parameter:
        return shlex.join([SET, f"{parameter}={text}"])
    return None
