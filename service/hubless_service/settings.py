"""The one table of settings. Environment variables, command options and docs/settings.md are made from it."""

import re
from functools import cached_property
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, NonNegativeInt, PositiveFloat, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from hubless.errors import InputError
from hubless.kernels.threads import own_cores
from hubless.store.address import copy_folder, storage_address
from hubless.store.catalog import Catalog
from hubless.store.query_sample import SIZE
from hubless.vectors.readers.pictures import check_pillow

KIB, MIB = 2**10, 2**20
Role = Literal["read", "write", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""Each may do what those before it may."""
KEY_SETTINGS = [f"{role}_keys" for role in ROLES]
"""Settings with the API keys of each role."""
SECRETS = [*KEY_SETTINGS, "encoders"]
"""Settings that no message shows."""
SHORTEST_KEY = 16
"""Characters of an API key: a shorter one could be guessed."""

OTHERS = ("API_KEY", "COLLECTION", "EXTRAS", "INPUT", "MOUNT", "PUBLISH", "SOAK_SECONDS", "URL")
"""Variables without their prefix that clients, commands, docker-compose.yml and make read."""
PREFIX = "HUBLESS_"

_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_ORIGIN = re.compile(r"https?://[^/\s]+")


def is_loopback(host: str | None) -> bool:
    """Return whether a name or an address is this machine's alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return False


def check_host(host: str) -> str:
    """Return an address or a name to listen on. Raise `ValueError` for anything else, which says what to write."""
    try:
        ip_address(host)
    except ValueError:
        if not _HOST_NAME.fullmatch(host):
            raise ValueError(_meant(host)) from None
    return host


def _meant(host: str) -> str:
    """Return what to write in place of what is no host: of a URL, or of an address with a port, its parts."""
    expected = "expected an address such as 127.0.0.1 or ::1, without scheme and port; 0.0.0.0 is all addresses"
    try:
        parts = urlsplit(host if "//" in host else f"//{host}")
        name, port = check_host(parts.hostname or ""), parts.port
    except (ValueError, RecursionError):
        return expected
    return f"expected an address alone: write {name}" + (f", and --port {port}" if port is not None else "")


class Limits:
    """Limits that no variable changes, here as several rooms share them."""

    usual_limit = 10
    max_limit = 1000
    max_batch = 1000
    max_waiting = 2000
    receive_seconds = 20
    """For a client to send the head, or the body, or to take 64 KiB of an answer."""
    keep_alive_seconds = 620
    """More than proxies keep an idle connection: nginx and AWS do so for 60 s, Google for 600 s."""
    query_sample_days = 30
    max_depth = 5000
    max_write_points = 1000
    max_added = 50_000
    max_bank_queries = 50_000
    max_lists = 10
    max_batch_hits = 100_000
    max_batch_numbers = 4_000_000
    max_batch_filter_values = 50_000
    max_pixels = 2048
    max_text = 10_000
    max_query_bytes = 2 * MIB
    max_timeout_ms = 60_000
    max_together = 256
    openmp_threads = 1
    max_head_bytes = 64 * KIB
    max_headers = 100
    max_pipelined = 16
    encoder_threads = 4
    max_connections = 4096
    max_sampled = min(SIZE, max_bank_queries)
    """Live queries that a bank may wait for: as many as a query sample keeps, and as a bank may have."""


class Settings(BaseSettings, Limits):
    """Everything that can be set, read once at start from the environment variables `HUBLESS_<NAME>`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        frozen=True,
        env_ignore_empty=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    catalog: Path
    """Folder with the collections to serve, or an address such as s3://bucket/catalog."""
    cache: Path | None = None
    """Folder for copies of a catalog in object storage; by default ~/.cache/hubless."""
    host: Annotated[str, AfterValidator(check_host)] = "127.0.0.1"
    """Address to listen on; 0.0.0.0 is all addresses."""
    port: int = Field(default=8000, ge=0, le=65535)
    """Port to listen on; 0 takes a free one."""
    insecure: bool = False
    """Let other machines in without an API key."""
    read_keys: SecretStr | None = None
    """API keys that may read."""
    write_keys: SecretStr | None = None
    """API keys that may read and write points."""
    admin_keys: SecretStr | None = None
    """API keys that may read, write and administer."""
    bank_readers: Role = "admin"
    """Lowest role that may read stored bank queries: read, write or admin."""
    keys_file: Path | None = None
    """File with more API keys; read again when it changes."""
    max_wrong_keys: int = Field(default=20, ge=0, le=1000)
    """Different wrong keys an address may try in a minute; 0 is any number."""
    trusted_proxies: str = "127.0.0.1,::1"
    """Proxies whose X-Forwarded-For is believed: addresses or networks."""
    metrics_public: bool = False
    """Answer /metrics without a key."""
    cors_origins: str | None = None
    """Origins whose pages may ask from a browser; * is all."""
    poll_seconds: PositiveFloat = 5
    """Seconds between two looks at the catalog."""
    merge_at: NonNegativeInt = Field(
        default=10_000,
        description="Added or gone targets, or writes, from which on the service merges a collection, if they are 2 % "
        "of it; 0 leaves it to you.",
    )
    keep_versions: int = Field(default=5, ge=1)
    """Newest versions to keep when the service makes one."""
    max_body_bytes: int = Field(default=16 * MIB, ge=1)
    """Largest request body, in bytes."""
    default_timeout_ms: int = Field(default=10_000, ge=1, le=60_000)
    """Milliseconds to answer a request that gives no timeout_ms."""
    workers: NonNegativeInt = 0
    """Processes that serve; 0 is one a processor, as memory allows."""
    search_threads: int = Field(default_factory=own_cores, ge=1)
    """Searches that run at the same time."""
    encoders: dict[str, dict[str, Any]] = {}
    """JSON: by collection, other fields of its encoder."""
    pictures: Path | None = Field(
        default=None,
        description="Folder with the pictures of targets; {collection} in it, which limited keys need, is the name.",
    )
    hubness: bool = True
    """Keep the last 2,048 queries in memory, for live hubness and drift."""
    query_sample: Path | None = None
    """Folder for a sample of the queries that people ask."""
    grace_seconds: NonNegativeInt = Field(
        default=20,
        description="Seconds to stop after SIGTERM; in the first tenth requests are taken, while /readyz says 503.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severe message to log; info has requests."""
    log_format: Literal["text", "json"] = "text"
    """Log lines as text or JSON."""

    @property
    def drain_seconds(self) -> float:
        """Seconds after SIGTERM in which requests are still taken."""
        return self.grace_seconds / 10

    @cached_property
    def address(self) -> str | None:
        """Where the catalog is in object storage; None for one on a disk."""
        return storage_address(self.catalog)

    @property
    def folder(self) -> Path:
        """The folder with the collections, or with copies of them."""
        return self.catalog if self.address is None else copy_folder(self.address, "serve", self.cache)

    @property
    def keys(self) -> list[tuple[Role, str]]:
        """API keys with their roles, without those of `keys_file`."""
        given: list[SecretStr | None] = [getattr(self, name) for name in KEY_SETTINGS]
        return [(role, key) for role, keys in zip(ROLES, given, strict=True) if keys for key in _listed(keys)]

    @property
    def origins(self) -> frozenset[str]:
        """`cors_origins` one by one."""
        return frozenset(split(self.cors_origins or ""))

    @field_validator("catalog")
    @classmethod
    def _absolute(cls, catalog: Path) -> Path:
        return catalog if storage_address(catalog) else Catalog(catalog).path

    @field_validator(*KEY_SETTINGS)
    @classmethod
    def _long_enough(cls, keys: SecretStr | None) -> SecretStr | None:
        for key in _listed(keys) if keys else []:
            check_key(key)
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

    @model_validator(mode="after")
    def _sample_outside_the_catalog(self) -> "Settings":
        if self.query_sample and self.query_sample.resolve().is_relative_to(Catalog(self.folder).path):
            raise ValueError(f"HUBLESS_QUERY_SAMPLE: expected a folder outside the catalog, got {self.query_sample}")
        return self

    @field_validator("pictures")
    @classmethod
    def _folder_of_pictures(cls, pictures: Path | None) -> Path | None:
        if pictures is None:
            return None
        try:
            check_pillow()
        except InputError as error:
            raise ValueError(f"expected {error.expected}") from error
        if "{collection}" not in str(pictures) and not pictures.is_dir():
            raise ValueError("expected a folder that is there")
        return pictures.absolute()


def split(listed: str) -> list[str]:
    """Split at commas."""
    return [part.strip() for part in listed.split(",") if part.strip()]


def check_key(key: str) -> None:
    """Raise `ValueError` if an API key could be guessed, or no header can hold it."""
    if len(key) < SHORTEST_KEY or not (key.isascii() and key.isprintable()):
        raise ValueError(f"expected keys of {SHORTEST_KEY} or more printable ASCII characters")


def _listed(keys: SecretStr) -> list[str]:
    return split(keys.get_secret_value())
