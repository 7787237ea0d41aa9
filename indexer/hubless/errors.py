"""Every error that hubless raises on purpose, below `HublessError`. Programs and HTTP answers rely on its `code`."""

import errno
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.metadata import PackageNotFoundError, distribution, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urlsplit


def how_to_install(extra: str, package: str = "hubless") -> str:
    """Return the line that installs an extra of a package of ours, from a clone if the package came from one."""
    with suppress(PackageNotFoundError):
        there = distribution(package)
        came = json.loads(there.read_text("direct_url.json") or "{}")
        if "dir_info" in came:
            folder = Path(unquote(urlsplit(came["url"]).path))
            # the rings of a clone are on no index
            rings = [
                ring.parent
                for name in re.findall(rf"hubless-(\w+)[^\"]* extra == '{extra}'", str(there.requires))
                for depth in ("", "*/")
                for ring in folder.glob(f"{depth}{name}/pyproject.toml")
            ]
            way = "-e " if came["dir_info"].get("editable") else ""
            return " ".join(["pip install", *(way + shlex.quote(str(each)) for each in (f"{folder}[{extra}]", *rings))])
    return f"pip install '{package}[{extra}]'"


TAKEN: ContextVar[Mapping[str, str] | None] = ContextVar("taken", default=None)
"""How a command is given parameters, by their names, with `parameter`, `key` and `value`. None in Python."""


def advice(words: str, parameter: str, value: str = "FILE") -> str:
    """Return words in which `{}` is how a parameter, or a key as in `payload_schema.zip`, is given a value.

    Nothing if whoever asked cannot give it.
    """
    name, _, key = parameter.partition(".")
    way = '{name}={{"{key}": "{value}"}}' if key else "{name}"
    if (taken := TAKEN.get()) is not None:
        way = taken.get(name, "")
    return way and words.replace("{}", way.format(name=name, parameter=shlex.quote(parameter), key=key, value=value))


_SECRETS = (
    # the last @ of an address ends its password, whatever that holds
    re.compile(r"\b([a-z][a-z0-9+.-]*:(?://)?[^/?#@:\s]*):.*(?=@)", re.DOTALL | re.IGNORECASE),
    # a port that is no number
    re.compile(r"\b([a-z][a-z0-9+.-]*://[^/?#@:\s]*):(?!\d*(?:[/?#\s]|$))[^/?#@…\s]+", re.IGNORECASE),
    re.compile(r"([?&][^=&\s]*(?:pass|pwd|token|secret|key)[^=&\s]*=)[^&\s]*", re.IGNORECASE),
)


def without_secrets(text: str) -> str:
    """Return a text with addresses that show no password and no key, also where they are written wrongly."""
    for secret, put in zip(_SECRETS, (r"\1:…", r"\1:…", r"\1…"), strict=True):
        text = secret.sub(put, text)
    return text


def _in_a_line(text: str) -> str:
    """Return a text with what is no letter, such as an end of line or an escape of terminals, written out."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


class HublessError(Exception):
    """The base of all errors raised on purpose."""

    code = "error"

    def __reduce__(self) -> tuple[Any, ...]:  # so that an error reaches another process as it was
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[HublessError], args: tuple[Any, ...], state: dict[str, Any]) -> HublessError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


def not_installed(name: str, extra: str, needs: str = "") -> HublessError:
    """Return what is raised where something is used that an extra brings: of a ring such as `lab`, or by a package."""
    lacking = f"needs {needs}" if needs else f"is of hubless-{extra}"
    return HublessError(f"{name} {lacking}, which is not installed: `{how_to_install(extra)}` brings it")


@contextmanager
def installed(name: str, extra: str) -> Iterator[None]:
    """Turn an import that fails, as a package is missing, into an error that says which extra brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "hubless").partition(".")[0]
        if find_spec(package) is not None:
            raise
        raise not_installed(name, extra, "" if package == f"hubless_{extra}" else package) from None


def brought(group: str, name: str, shown: str, ring: str) -> Any:
    """Load what a package brings under a name of the entry points `hubless.GROUP`.

    Raises `HublessError` if there is none: what is `shown` to the user is of this ring, which is not installed.
    """
    for entry in entry_points(group=f"hubless.{group}", name=name):
        return entry.load()
    raise not_installed(shown, ring)


class InputError(HublessError, ValueError):
    """A parameter, a file or a row is not what it has to be: says which, what was expected, and what came."""

    code = "invalid_input"

    def __init__(self, parameter: str, expected: str, received: object) -> None:
        self.parameter, self.expected = _in_a_line(parameter), _in_a_line(expected)
        text = _in_a_line(str(received))
        self.received = without_secrets(text) if "://" in text else text
        super().__init__(f"{self.parameter}: expected {self.expected}, got {self.received}")

    def about(self, parameter: str) -> Self:
        """Return the same error about a parameter that has another name to whoever asked."""
        return type(self)(parameter, self.expected, self.received)


class DimensionMismatch(InputError):
    """Vectors of two dimensions were given where one dimension is needed."""

    code = "dimension_mismatch"


class NotFinite(InputError):
    """A vector holds NaN or infinity, or a number that is infinite once cast to float32."""

    code = "not_finite"


class ZeroVector(InputError):
    """A vector of length zero has no direction, so no cosine similarity."""

    code = "zero_vector"


class DuplicateIds(InputError):
    """Two targets bear one id."""

    code = "duplicate_ids"


class NoEncoder(InputError):
    """A text or a picture was given to a collection that has no encoder for it."""

    code = "no_encoder"


class NoEngine(InputError):
    """An engine is not installed, or nothing says where it is: names the package or the setting."""


class UnknownField(InputError):
    """There is no field, member or payload column of this name: says which there are."""

    code = "unknown_field"


class UnknownWords(InputError):
    """The encoder knows no word of the text."""

    code = "unknown_words"


class TextRefused(InputError):
    """The encoder of the collection does not take the text or picture, such as one that is too long for its model."""

    code = "text_refused"


class NotFoundError(HublessError, LookupError):
    """The thing that was named does not exist."""

    code = "not_found"


class CollectionNotFound(NotFoundError):
    """The catalog has no such collection, or one without a current version."""

    code = "collection_not_found"


class VersionNotFound(NotFoundError):
    """The collection has no such version."""

    code = "version_not_found"


class VersionReplaced(VersionNotFound):
    """A version was deleted since it was opened, as newer ones are there."""


class AliasNotFound(NotFoundError):
    """The catalog has no such alias."""

    code = "alias_not_found"


class ScoresNotFound(NotFoundError):
    """The catalog has no such correction of scores."""

    code = "scores_not_found"


class PointNotFound(NotFoundError):
    """No target bears the id."""

    code = "point_not_found"


class PreconditionFailed(HublessError):
    """The thing to change is not as expected: somebody else has changed it."""

    code = "precondition_failed"


class CollectionExists(HublessError):
    """A collection of that name is there, with other settings than those asked for."""

    code = "collection_exists"


class CollectionAliased(HublessError):
    """Aliases stand for the collection that is to be deleted."""

    code = "collection_aliased"


class JobRunning(HublessError):
    """Another job changes the collection: names its owner."""

    code = "job_running"

    def __init__(self, home: Path, owner: str) -> None:
        super().__init__(f"collection {home.name!r} is being changed by {owner}")


class BundleError(HublessError):
    """A version on disk cannot be served: names the file and what is wrong with it."""

    code = "bundle"

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class BundleDamaged(BundleError):
    """A file of the bundle is missing, truncated or changed, or a canary query is answered wrongly."""

    code = "bundle_damaged"


class UnsupportedBundle(BundleError):
    """The bundle was made by an older hubless, by a newer one, or with a package that is not installed."""

    code = "unsupported_bundle"


class EncoderFailed(HublessError):
    """An encoder that is not ours cannot be reached, refuses, or answers with something else than vectors."""

    code = "encoder_failed"

    def __init__(self, reason: str) -> None:
        super().__init__(f"The encoder of the collection failed: {reason}.")


class EncoderTimeout(EncoderFailed):
    """An encoder did not answer in time."""

    code = "encoder_timeout"


class PictureTimeout(HublessError):
    """A picture could not be read in the time that was left."""

    code = "deadline_exceeded"


class EngineError(HublessError):
    """The engine that holds the vectors refuses, or answers with something else than was asked."""

    code = "engine_failed"

    def __init__(self, reason: str) -> None:
        super().__init__(f"The engine of the collection failed: {reason}.")


class EngineUnavailable(EngineError):
    """The engine cannot be reached."""

    code = "engine_unavailable"


class EngineTimeout(EngineError):
    """The engine did not answer in the time that was left."""

    code = "deadline_exceeded"


class ExecutorFailed(HublessError):
    """The processes or machines of an executor were lost again and again."""

    code = "executor_failed"


_ONE_SLASH = re.compile(r"^(\w\w+):/(?!/)")
"""Of an address that passed through pathlib, which makes one slash of two."""


class StorageError(HublessError):
    """The disk or the folder refuses: missing, not writable, or full."""

    code = "storage"

    def __init__(self, path: Path | str, problem: str) -> None:
        where = _ONE_SLASH.sub(r"\1://", str(path))
        super().__init__(f"{where}: {problem}")
        self.path = Path(path)
        self.problem = problem


class LogDamaged(StorageError):
    """The log of a collection is not what was written, or lacks writes that are needed."""

    code = "log_damaged"


class LogCut(LogDamaged):
    """Writes that an old version needs have left the log, as newer versions have them."""


_REFUSALS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than allowed",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "no permission",
    errno.EPERM: "no permission",
    errno.ENOTDIR: "a part of the path is a file or a link, not a folder",
    errno.EEXIST: "a file is in the place of a folder",
    errno.EISDIR: "a folder is in the place of a file",
    errno.ENOENT: "no such file or folder",
    errno.ENAMETOOLONG: "the name is too long",
}


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an `OSError` of the system, which has a number, into a `StorageError` that names the path and says why."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        reason = _REFUSALS.get(error.errno, error.strerror or str(error))
        named = error.filename if isinstance(error.filename, str) else path
        raise StorageError(named, reason) from error


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """Give a temporary file in the same folder, removed at the end. Errors name the file itself."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        yield temporary
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def collection_errors(home: Path) -> Iterator[None]:
    """Do the same in the folder of a collection. Raises `CollectionNotFound` if that was deleted meanwhile."""
    try:
        with storage_errors(home):
            yield
    except StorageError as error:
        if home.exists() or not home.parent.exists():
            raise
        raise CollectionNotFound(f"collection {home.name!r} was deleted") from error


def refuse_given(parameters: Mapping[str, object], expected: str) -> None:
    """Raise `InputError` for the first of some parameters that is given: neither None nor False."""
    for name, value in parameters.items():
        if value is not None and value is not False:
            raise InputError(name, expected, value if type(value) in (int, float) else "one")


_LONGEST_LINE = 300
"""Characters. NumPy, for one, repeats all of a damaged header."""


def one_line(error: Exception) -> str:
    """The first line of an error's text, cut if it is long; of one of the system its words, without number and path."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    line = str(error).splitlines()[0] if str(error) else type(error).__name__
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"


MOST_NAMES = 8
"""Names that a message lists. A wide table has hundreds."""


def names_of(names: Iterable[object]) -> str:
    """Return names for a message, separated by commas: the first few, and how many more there are."""
    known = [str(name) for name in names]
    more = f" and {len(known) - MOST_NAMES} more" if len(known) > MOST_NAMES else ""
    return ", ".join(known[:MOST_NAMES]) + more or "none"
