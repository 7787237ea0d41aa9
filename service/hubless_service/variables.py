"""Variables of the environment that look like settings, and that nothing reads: misspelt ones, as a rule."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from hubless.search.engines.external import engine_names
from hubless_service.settings import OTHERS, PREFIX, Settings

_NEAR, _VERY_NEAR = 0.6, 0.85
# Kubernetes sets these for a service that is called hubless
_OF_KUBERNETES = re.compile(r"(\w+_)?(SERVICE_(HOST|PORT)|PORT_\d+_)\w*")


def misspelt(names: Iterable[str]) -> list[str]:
    """Return a sentence on each variable that nothing reads, with the nearest known one."""
    known = [name.upper() for name in (*Settings.model_fields, *OTHERS)]
    engines = tuple(f"{name.upper()}_" for name in engine_names())
    said = []
    for name in sorted(set(names)):
        head, _, rest = name.upper().partition("_")
        ours = f"{head}_" == PREFIX
        if not (ours or get_close_matches(head, [PREFIX[:-1]], 1, _VERY_NEAR)):
            continue
        if ours and (rest in known or rest.startswith(engines) or _OF_KUBERNETES.fullmatch(rest)):
            continue
        nearest = get_close_matches(rest, known, 1, _NEAR)
        meant = f"did you mean {PREFIX}{nearest[0]}?" if nearest else "docs/settings.md lists the settings"
        said.append(f"nothing reads the variable {name}: {meant}")
    return said
