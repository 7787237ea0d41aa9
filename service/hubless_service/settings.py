"""The one table of settings: from here come the environment variables, the command's options and docs/settings.md."""

import os
import re
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

MIB = 2**20
SHORTEST_KEY = 16
"""Characters of an API key: a shorter one could be guessed."""

_ORIGIN = re.compile(r"https?://[^/\s]+")


class Settings(BaseSettings):
    """Everything that can be set, read once at start from the environment variables `HUBLESS_<NAME>`."""

    model_config = SettingsConfigDict(
        env_prefix="HUBLESS_", frozen=True, env_ignore_empty=True, hide_input_in_errors=True
    )

    catalog: Path = Field(description="Folder with the collections to serve.")
    host: str = Field(default="127.0.0.1", description="Address to listen on; 0.0.0.0 for all interfaces.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    insecure: bool = Field(
        default=False, description="Listen on other addresses than this machine's own without any API key."
    )
    read_keys: SecretStr | None = Field(
        default=None, description="API keys that may read, of 16 characters or more, separated by commas."
    )
    admin_keys: SecretStr | None = Field(default=None, description="API keys that may read and administer, likewise.")
    keys_file: Path | None = Field(
        default=None, description="File with further API keys, read anew when it changes; see docs/security.md."
    )
    max_wrong_keys: int = Field(
        default=20,
        ge=0,
        le=1000,
        description="Different wrong API keys that one address may try in a minute before it gets 429 for the rest of "
        "it; 0 for any number.",
    )
    trusted_proxies: str = Field(
        default="127.0.0.1,::1",
        description="Addresses or networks of proxies that are believed when X-Forwarded-For names a client, separated "
        "by commas.",
    )
    metrics_public: bool = Field(default=False, description="Answer /metrics without a key, where there are keys.")
    cors_origins: str | None = Field(
        default=None,
        description="Origins whose pages may ask from a browser, such as https://shop.example, separated by commas; "
        "* for all.",
    )
    verify: Literal["background", "first", "never"] = Field(
        default="background",
        description="When the hash of every file is compared with the manifest: first, before a version is served; in "
        "the background, for what is opened at the start, while sizes and canary queries vouch for it; or never.",
    )
    poll_seconds: float = Field(
        default=5, gt=0, description="Seconds between two looks at the catalog for new versions and new collections."
    )
    default_limit: int = Field(default=10, ge=1, description="Hits in an answer when the query names no limit.")
    max_limit: int = Field(
        default=1000, ge=1, description="Highest limit of a query or a page, and most ids in one request."
    )
    max_depth: int = Field(
        default=5000,
        ge=1,
        description="Deepest rank that a query which skips may ask for: its skip and limit together.",
    )
    max_batch: int = Field(default=1000, ge=1, description="Most queries in one batch.")
    max_batch_hits: int = Field(
        default=100_000,
        ge=1,
        description="Most hits that a batch may ask for: the sum of its queries' limits and skips.",
    )
    max_filter_depth: int = Field(
        default=10, ge=1, description="How deep filters may be nested in one another; a condition alone is 1."
    )
    max_filter_conditions: int = Field(
        default=256, ge=1, description="Most conditions in one filter; each and, or and not is one too."
    )
    max_filter_values: int = Field(default=10_000, ge=1, description="Most values in one `in` of a filter.")
    filter_cache_bytes: int = Field(
        default=64 * MIB,
        ge=0,
        description="Memory, of each version that is served, for what recently used filters matched: a bit a target.",
    )
    max_text: int = Field(default=10_000, ge=1, description="Longest text of a query, in characters.")
    max_body_bytes: int = Field(default=16 * MIB, ge=1, description="Largest request body, in bytes.")
    default_timeout_ms: int = Field(
        default=10_000, ge=1, description="Milliseconds in which a request is answered or refused, if it names none."
    )
    max_timeout_ms: int = Field(default=60_000, ge=1, description="Highest timeout_ms that a query may ask for.")
    max_waiting: int = Field(
        default=2000,
        ge=1,
        description="Queries that may wait for a search thread; while there are more, others get 429.",
    )
    workers: int = Field(
        default=1,
        ge=1,
        description="Processes that serve the port, each with its own search threads, over shared files.",
    )
    search_threads: int = Field(
        default_factory=lambda: os.cpu_count() or 1,
        ge=1,
        description="Searches that run at the same time. By default as many as there are processors; light ones, of "
        "less than 2 ms, leave one processor to the thread that talks to clients, and over a large flat index they all "
        "do their part of one search.",
    )
    max_together: int = Field(
        default=256,
        ge=1,
        description="Most queries, of requests that wait, that are searched together; with 1 each request goes alone.",
    )
    openmp_threads: int = Field(
        default=1,
        ge=1,
        description="OpenMP threads of each search; more answer one large batch sooner, but fewer queries a second.",
    )
    receive_seconds: float = Field(
        default=20,
        gt=0,
        description="Seconds in which a client has to send the head of a request, and again its body; and for which it "
        "may take nothing of a long answer.",
    )
    keep_alive_seconds: int = Field(
        default=65,
        ge=0,
        description="Seconds that an idle connection stays open. Longer than the idle timeout of a load balancer.",
    )
    encoders: dict[str, dict[str, Any]] = Field(
        default={},
        description="JSON: by collection, fields that replace those of its encoder's description, such as the URL.",
    )
    encoder_threads: int = Field(
        default=4, ge=1, description="Calls of an encoder that run at the same time, for each collection."
    )
    hubness: bool = Field(
        default=True,
        description="Count how often each target is found, to show hubness as it is; takes 12 bytes a target.",
    )
    hubness_half_life: int = Field(
        default=10_000, ge=1, description="Queries after which a find counts half in the live hubness."
    )
    hubness_share: float = Field(
        default=0.01,
        ge=0,
        le=1,
        description="Share of the queries that are searched once more without the correction, in the time to spare, to "
        "compare hubness; 0 for none.",
    )
    drift_sample: int = Field(
        default=512,
        ge=0,
        le=4096,
        description="Queries of each collection that are kept, at random and in memory only, to compare them with the "
        "query bank; 0 for none.",
    )
    drain_seconds: float = Field(
        default=2,
        ge=0,
        description="Seconds after SIGTERM in which /readyz says 503 and queries are still answered, so that a load "
        "balancer can look away.",
    )
    grace_seconds: int = Field(
        default=20, ge=0, description="Seconds after that in which requests that have begun are still answered."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least severe messages to log; info has one line for each request."
    )
    log_format: Literal["text", "json"] = Field(
        default="text", description="Log lines as text for people, or as JSON for programs, one object a line."
    )
    log_share: float = Field(
        default=1,
        ge=0,
        le=1,
        description="Share of the requests that get a log line, drawn at random; one that failed always gets its own.",
    )
    traces: bool = Field(
        default=False,
        description="Send OpenTelemetry traces, as OTEL_EXPORTER_OTLP_ENDPOINT says; needs the extra hubless[otel].",
    )

    @property
    def origins(self) -> frozenset[str]:
        """`cors_origins` one by one."""
        return frozenset(split(self.cors_origins or ""))

    @field_validator("read_keys", "admin_keys")
    @classmethod
    def _long_enough(cls, keys: SecretStr | None) -> SecretStr | None:
        for key in split(keys.get_secret_value() if keys else ""):
            if len(key) < SHORTEST_KEY or not (key.isascii() and key.isprintable()):
                raise ValueError(f"expected keys of {SHORTEST_KEY} or more printable ASCII characters")
        return keys

    @field_validator("cors_origins")
    @classmethod
    def _origins(cls, origins: str | None) -> str | None:
        for origin in split(origins or ""):
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise ValueError("expected origins such as https://shop.example, or *")
        return origins

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, proxies: str) -> str:
        for proxy in split(proxies):
            try:
                ip_network(proxy)
            except ValueError as error:
                raise ValueError(f"expected addresses or networks such as 10.0.0.0/8, {error}") from error
        return proxies

    @field_validator("traces")
    @classmethod
    def _installed(cls, traces: bool) -> bool:
        if traces:
            try:
                import opentelemetry.exporter.otlp.proto.http
                import opentelemetry.sdk.trace  # noqa: F401
            except ImportError as error:
                raise ValueError("traces need more packages: pip install 'hubless[otel]'") from error
        return traces

    @model_validator(mode="after")
    def _default_within_maximum(self) -> "Settings":
        if self.default_limit > self.max_limit:
            raise ValueError(f"default_limit {self.default_limit} is above max_limit {self.max_limit}")
        if self.default_timeout_ms > self.max_timeout_ms:
            raise ValueError(
                f"default_timeout_ms {self.default_timeout_ms} is above max_timeout_ms {self.max_timeout_ms}"
            )
        return self


def split(listed: str) -> list[str]:
    """What stands between commas."""
    return [part.strip() for part in listed.split(",") if part.strip()]
