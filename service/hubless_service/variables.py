"""Variables of the environment that look like settings, and that nothing reads: misspelt ones, as a rule."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from hubless.search.engines.external import engine_names
from hubless_service.settings import OTHERS, PREFIX, Settings

NO_LONGER = {
    "CONSOLE": "the console is always there, as /docs is: a proxy can leave it out",
    "DRAIN_SECONDS": "HUBLESS_GRACE_SECONDS has them: a tenth of it",
    "KEEP_ALIVE_SECONDS": "an idle connection stays for 620 seconds, longer than proxies keep theirs",
    "MAX_BATCH": "a batch has at most 1,000 queries",
    "MAX_LIMIT": "a query has at most 1,000 hits",
    "MAX_WAITING": "at most 2,000 queries wait",
    "QUERY_SAMPLE_DAYS": "a query stays in the sample for 30 days, or until you delete the file of its day",
    "QUERY_SAMPLE_TEXTS": "the sample has no texts",
    "RECEIVE_SECONDS": "a client has 20 seconds to send a head, or a body, or to take 64 KiB",
    "TRACES": "traces are sent where OTEL_EXPORTER_OTLP_ENDPOINT says",
    "VERIFY": "hashes are compared in the background; `hubless verify` compares them before a start",
}
"""Settings that were, and what holds in their place."""
_NEAR, _VERY_NEAR = 0.6, 0.85
# Kubernetes sets these for a service that is called hubless
_OF_KUBERNETES = re.compile(r"(\w+_)?(SERVICE_(HOST|PORT)|PORT_\d+_)\w*")


def gone(names: Iterable[str]) -> str | None:
    """Return why a variable is refused that was a setting once; None if there is no such variable."""
    given = sorted(name for name in NO_LONGER if f"{PREFIX}{name}" in set(names))
    return f"{PREFIX}{given[0]}: expected no such variable, as {NO_LONGER[given[0]]}" if given else None


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
