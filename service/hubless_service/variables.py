"""Variables of the environment that look like settings, and that nothing reads: misspelt ones, or of an old version."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from hubless.search.engines.external import engine_names
from hubless_service.settings import OTHERS, PREFIX, Limits, Settings

NO_LONGER = {
    **{name.upper(): f"it is always {getattr(Settings, name)}" for name in vars(Limits) if name[0] != "_"},
    **dict.fromkeys(
        ("DRIFT_SAMPLE", "HUBNESS_HALF_LIFE", "HUBNESS_SHARE"),
        "live hubness and drift are of the last 2,048 queries, unless HUBLESS_HUBNESS is false",
    ),
    **dict.fromkeys(
        ("MAX_FILTER_CONDITIONS", "MAX_FILTER_DEPTH", "MAX_FILTER_VALUES"),
        "a filter may be 10 levels deep, with 256 conditions and 10,000 values",
    ),
    **dict.fromkeys(
        ("QUERY_SAMPLE_CLIENT_SHARE", "QUERY_SAMPLE_SHARE", "QUERY_SAMPLE_SIZE"),
        "the sample chooses by itself which queries it keeps",
    ),
    "CACHE_BYTES": "the cache keeps two versions of a collection: limit its volume",
    "CONSOLE": "the console is always there, as /docs is: a proxy can leave it out",
    "DEFAULT_LIMIT": f"a query that gives no limit has {Settings.usual_limit} hits",
    "DRAIN_SECONDS": "HUBLESS_GRACE_SECONDS has them: a tenth of it",
    "FILTER_CACHE_BYTES": "how much is kept of filters cannot be set",
    "FOLLOW_STRENGTH": "a strength stays as it was built: `GET .../hubness` compares others",
    "HUBNESS_COMPARED": "live queries are searched again when somebody asks, 512 at most",
    "LOG_SHARE": "each request has a line where HUBLESS_LOG_LEVEL is info",
    "MILVUS_BULK": "vectors go to Milvus by upserts",
    "MILVUS_THREADS": "searches in Milvus are among those of HUBLESS_SEARCH_THREADS",
    "QUERY_SAMPLE_TEXTS": "the sample has no texts",
    "TRACES": "traces are sent where OTEL_EXPORTER_OTLP_ENDPOINT says",
    "VERIFY": "hashes are compared in the background; `hubless verify` compares them before a start",
}
"""Settings that were, and what holds in their place."""
_VERY_NEAR = 0.85
# Kubernetes sets these for a service that is called hubless
_OF_KUBERNETES = re.compile(r"(\w+_)?(SERVICE_(HOST|PORT)|PORT_\d+_)\w*")


def unread(names: Iterable[str]) -> list[str]:
    """Return a sentence on each variable that nothing reads: what took its place, or the nearest known one."""
    known = [name.upper() for name in (*Settings.model_fields, *OTHERS)]
    engines = tuple(f"{name.upper()}_" for name in engine_names())
    said = []
    for name in sorted(names):
        head, _, rest = name.upper().partition("_")
        ours = f"{head}_" == PREFIX
        if not (ours or get_close_matches(head, [PREFIX[:-1]], 1, _VERY_NEAR)):
            continue
        if ours and rest in NO_LONGER:
            meant = NO_LONGER[rest]
        elif ours and (rest in known or rest.startswith(engines) or _OF_KUBERNETES.fullmatch(rest)):
            continue
        else:
            nearest = get_close_matches(rest, known, 1)
            meant = f"did you mean {PREFIX}{nearest[0]}?" if nearest else "docs/settings.md lists the settings"
        said.append(f"nothing reads the variable {name}: {meant}")
    return said
