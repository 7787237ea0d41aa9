"""API keys: which there are, and what a request that brings one may do."""

import asyncio
import logging
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError

from hubless.errors import HublessError, InputError, storage_errors
from hubless_service.settings import ROLES, Role, Settings, check_key

_log = logging.getLogger("hubless.keys")

_LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Access:
    """The rights of a request, in all collections or in some."""

    role: Role
    collections: frozenset[str] | None = None
    name: str | None = field(default=None, compare=False)
    digest: bytes = field(default=b"", compare=False, repr=False)

    def has(self, role: Role) -> bool:
        """Return whether it has a role, or a higher one."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def sees(self, collection: str) -> bool:
        """Return whether the collection exists for this request."""
        return self.collections is None or collection in self.collections


EVERYTHING = Access("admin")
NOTHING = Access("read", frozenset())


def _checked(key: SecretStr) -> SecretStr:
    check_key(key.get_secret_value())
    return key


class _Record(BaseModel):
    """A key in the file: itself or its hash, what it is for, perhaps its name, and which collections it may see."""

    model_config = ConfigDict(extra="forbid")

    key: Annotated[SecretStr, AfterValidator(_checked)] | None = None
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    role: Role
    collections: list[str] | None = None
    name: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")] | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    keys: list[_Record]


_FIELDS = _File.model_fields.keys() | _Record.model_fields.keys()


class Keys:
    """All keys of a server."""

    def __init__(self, settings: Settings) -> None:
        self._fixed = [Access(role, digest=sha256(key.encode()).digest()) for role, key in settings.keys]
        self._path = settings.keys_file
        self._pictures = settings.pictures
        self._seen = b""  # a digest of the file: its time stays the same if it is written twice in quick succession
        self._trouble = ""
        self._keys = self._fixed
        if self._path:
            self._read(self._path)

    @property
    def wanted(self) -> bool:
        """True if requests must bring one: also if the file that was named has none."""
        return bool(self._fixed or self._path)

    def access(self, presented: bytes) -> Access | None:
        """Return the rights of a key; None if it is not known. Takes as long whichever key it is."""
        digest = sha256(presented).digest()
        found = None
        for access in self._keys:
            if compare_digest(access.digest, digest):
                found = access
        return found

    async def watch(self) -> None:
        """Look at the file again and again, if there is one."""
        while self._path:
            await asyncio.sleep(_LOOK_SECONDS)
            await asyncio.to_thread(self.look)

    def look(self) -> None:
        """Read the file if it has changed; a file that cannot be read changes nothing."""
        try:
            if self._path and self._read(self._path):
                _log.info("API keys were read anew: %d", len(self._keys))
            self._trouble = ""
        except HublessError as error:
            if str(error) != self._trouble:
                _log.warning("API keys stay as they were: %s", error)
            self._trouble = str(error)

    def _read(self, path: Path) -> bool:
        """Read the file. Return whether it has changed."""
        with storage_errors(path):
            content = path.read_bytes()
        if (now := sha256(content).digest()) == self._seen:
            return False
        read = _parse(content)
        limited = any(each.collections is not None for each in read)
        if limited and self._pictures and "{collection}" not in str(self._pictures):
            # whoever writes points could name the pictures of other collections
            raise InputError(
                "HUBLESS_PICTURES",
                "{collection} in it, such as /pictures/{collection}, as a key is limited to collections",
                self._pictures,
            )
        self._keys = [*self._fixed, *read]
        self._seen = now
        return True


def _parse(content: bytes) -> list[Access]:
    """Return the rights of the keys in a file. Raises `InputError`, which shows no key."""
    try:
        records = _File.model_validate_json(content).keys
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        # a key may stand where a field's name belongs
        place = ".".join(str(part) for part in first["loc"] if isinstance(part, int) or part in _FIELDS)
        raise InputError(
            f"keys_file, {place or 'content'}", "keys as docs/security.md has them", first["msg"]
        ) from None
    found = []
    for number, record in enumerate(records):
        if (record.key is None) == (record.sha256 is None):
            got = "neither" if record.key is None else "both"
            raise InputError(f"keys_file, keys.{number}", "either key or sha256", got)
        key = record.key and record.key.get_secret_value().encode()
        digest = sha256(key).digest() if key else bytes.fromhex(record.sha256 or "")
        limit = None if record.collections is None else frozenset(record.collections)
        found.append(Access(record.role, limit, record.name, digest))
    return found
