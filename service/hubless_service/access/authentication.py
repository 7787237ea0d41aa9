"""The key of a request is checked first."""

import logging
from dataclasses import dataclass
from math import ceil
from urllib.parse import urlsplit

from prometheus_client import Counter
from starlette.types import Scope

from hubless_service.access.attempts import Attempts
from hubless_service.access.keys import NOTHING, Access, Keys
from hubless_service.http.problems import HttpProblem
from hubless_service.http.trace import SCOPE_KEY

_log = logging.getLogger("hubless.keys")

ACCESS = "hubless.access"
# probes have no keys, and what the documentation says stands in the source code too
DOCS = "/docs"
PUBLIC = frozenset({"/", "/livez", "/readyz", DOCS, "/openapi.json", "/console"})
CONSOLE = "/console"
ASSETS = (f"{DOCS}/assets/", f"{CONSOLE}/")
METRICS = "/metrics"
_CHALLENGE = 'Bearer realm="hubless"'
FAILURES = ("no_key", "wrong_key", "too_many")
"""Why a request's key does not open what it could: for metrics."""


@dataclass
class KeyCheck:
    """Looks up what the keys of requests allow. Only there if keys are wanted."""

    keys: Keys
    attempts: Attempts
    failures: Counter
    public: frozenset[str]

    def __call__(self, scope: Scope) -> HttpProblem | None:
        """Put what its key allows into the scope of a request; return why it is refused: 401, or 429."""
        path: str = scope["path"]
        public = path in self.public or path.startswith(ASSETS)
        access = self._access(scope, public)
        if isinstance(access, HttpProblem):
            scope[ACCESS] = NOTHING
            return None if public else access
        scope[ACCESS] = access
        return None

    def _access(self, scope: Scope, public: bool) -> Access | HttpProblem:
        """Return the rights of a key, or why it has none. Wrong ones count on public paths, too."""
        presented = _presented(scope)
        if presented is None:
            if not public:
                self.failures.labels("no_key").inc()
            return HttpProblem(
                "unauthenticated",
                "This needs an API key, in the header Authorization: Bearer or X-API-Key.",
                headers={"WWW-Authenticate": _CHALLENGE},
            )
        host = (scope.get("client") or [""])[0]
        if left := self.attempts.seconds_left(host):
            self.failures.labels("too_many").inc()
            return HttpProblem(
                "too_many_wrong_keys",
                "This address has tried too many wrong API keys.",
                headers={"Retry-After": str(ceil(left))},
            )
        if access := self.keys.access(presented):
            return access
        self.failures.labels("wrong_key").inc()
        self.attempts.note(host, presented)
        return HttpProblem(
            "unauthenticated",
            "The API key is not known.",
            headers={"WWW-Authenticate": f'{_CHALLENGE}, error="invalid_token"'},
        )


def of_others() -> HttpProblem:
    """Return the answer to a key that would make something of a name that is not in its list."""
    return HttpProblem("forbidden", "The key is for other names.")


def host_of(origin: str) -> str | None:
    """The host of an origin; None if it has none, or is no origin."""
    try:
        return urlsplit(origin).hostname
    except ValueError:  # an open bracket, for example
        return None


def _presented(scope: Scope) -> bytes | None:
    """The key of a request: X-API-Key, or else the bearer token, which may be meant for a proxy."""
    heads: dict[bytes, bytes] = scope[SCOPE_KEY].heads
    scheme, _, token = heads.get(b"authorization", b"").partition(b" ")
    return heads.get(b"x-api-key", token.strip() if scheme.lower() == b"bearer" else None)
