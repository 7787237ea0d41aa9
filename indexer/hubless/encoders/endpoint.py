"""An encoder over HTTP: any server with OpenAI's `POST /v1/embeddings`."""

import json
import logging
import os
import re
import threading
import weakref
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import numpy as np
from pydantic import Field, field_validator

from hubless.deadline import within
from hubless.encoders.base import DescribedEncoder, EncoderDescription, checked
from hubless.encoders.http import WEB_SCHEMES, by, http_transport
from hubless.errors import EncoderFailed, EncoderTimeout, HublessError, InputError, NoEncoder, TextRefused
from hubless.kernels.forks import in_each_process, left_to_parent
from hubless.vectors.arrays import F32
from hubless.vectors.readers.pictures import PictureSource, media_type_of, sound_content

if TYPE_CHECKING:
    import httpx

_log = logging.getLogger("hubless.encoders")

_AGAIN = (429, 500, 502, 503, 504)
_OURS = "HUBLESS_"
_LONGEST_WAIT = 2.0  # seconds between two attempts
_BYTES_A_NUMBER = 32
_BYTES_BESIDE = 2**20


_OF_THE_TEXT = (400, 413, 422)
_OF_THE_DESCRIPTION = {
    401: "its key is missing or wrong, look at api_key_env and its variable",
    403: "its key does not allow this, look at api_key_env and its variable",
    404: "it has no such path or model, look at url and model",
}
_OF_THE_MODEL = re.compile(
    r"(?i)(?=.*\bmodels?\b)(?=.*\b(no|not|invalid|unknown|unsupported|required)\b)"
    r"(?!.*\b(tokens?|length|too long|context|inputs?)\b)"
)
"""What servers say with 400 that do not know a model, or a way to ask it: not of an input that is too long for it."""
_LONGEST = 200  # quoted characters
MOST_READ = 16_384


class EndpointDescription(EncoderDescription):
    """The endpoint, and how it is asked."""

    type: Literal["openai"] = "openai"
    url: str
    """Up to and without `/embeddings`, such as `https://api.openai.com/v1`."""
    model: str
    dimensions: int | None = Field(default=None, ge=1)
    """Asked for, of models that can shorten their vectors."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the key."""
    timeout: float = Field(default=10, gt=0)
    """Seconds in which the endpoint has to answer, whole."""
    retries: int = Field(default=2, ge=0)
    """Attempts after the first, where it refuses or fails."""
    connections: int = Field(default=8, ge=1)
    """Most connections that are open at a time."""
    batch: int = Field(default=256, ge=1)
    """Most texts in one call."""
    cache: int = Field(default=1000, ge=0)
    """Recent texts of which the vectors are kept."""
    pictures: Literal["jina", "infinity"] | None = None
    """The form in which it takes pictures: Jina's, Infinity's; none if not given."""
    breaker_failures: int = Field(default=5, ge=1)
    """Failures in a row, after which it is left alone."""
    breaker_seconds: float = Field(default=10, gt=0)
    """Seconds that it is left alone."""

    @field_validator("api_key_env")
    @classmethod
    def _check_name(cls, name: str | None) -> str | None:
        if name is not None and name.upper().startswith(_OURS):
            raise ValueError("a variable of the encoder's own, the service's hold its keys")
        return name

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in WEB_SCHEMES or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("http:// or https://, a host and a path")
        if parts.username or parts.password:
            raise ValueError("no password in it: name a variable in api_key_env")
        return url.rstrip("/")


PICTURES_AT_ONCE = 8
"""Most pictures in one call: each may have megabytes."""
_PICTURE_FORMS: dict[str, Callable[[Sequence[str]], dict[str, Any]]] = {
    "jina": lambda data: {"input": [{"image": each.partition(",")[2]} for each in data]},
    "infinity": lambda data: {"input": list(data), "modality": "image"},
}
"""Data URLs of pictures → what stands in the request."""


class Breaker:
    """Starts closed. Failures in a row open it for some seconds. Then it lets one call through."""

    def __init__(self, failures: int, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._most = failures
        self._seconds = seconds
        self._clock = clock
        in_each_process(self)

    def renew(self) -> None:
        self._lock = threading.Lock()
        self._failures = 0
        self._closes = 0.0  # while it is open: when it lets the next call through

    @property
    def is_open(self) -> bool:
        return self._failures >= self._most

    def allows(self) -> bool:
        with self._lock:
            if self._failures < self._most:
                return True
            if (now := self._clock()) < self._closes:
                return False
            self._closes = now + self._seconds
            return True

    def succeeded(self) -> bool:
        with self._lock:
            was_open = self._failures >= self._most
            self._failures = 0
            return was_open

    def failed(self) -> bool:
        with self._lock:
            self._failures += 1
            if self._failures >= self._most:
                self._closes = self._clock() + self._seconds
            return self._failures == self._most


class Endpoint(DescribedEncoder):
    """Sends texts and pictures as they are, in batches, and takes the vectors as they come."""

    def __init__(self, description: EndpointDescription) -> None:
        super().__init__(description)
        self._breaker = Breaker(description.breaker_failures, description.breaker_seconds)

    def renew(self) -> None:
        super().renew()
        self._recent: dict[str, F32] = {}  # the oldest first
        left_to_parent(self.__dict__.get("_http"))
        self._http = _client(self.description)
        weakref.finalize(self, self._http.close)

    described = EndpointDescription
    description: EndpointDescription

    @property
    def left_alone(self) -> bool:  # type: ignore[override]
        return self._breaker.is_open

    def check(self) -> None:
        if (name := self.description.api_key_env) is not None and (wrong := _wrong_key(_key(name))):
            raise InputError("encoder, api_key_env", "a variable with a key", f"{name}, which {wrong}")

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        with self._lock:
            known = {text: self._recent.pop(text) for text in texts if text in self._recent}
            self._recent |= known
        wanted = [text for text in dict.fromkeys(texts) if text not in known]
        ends = None if seconds is None else monotonic() + seconds
        for start in range(0, len(wanted), self.description.batch):
            some = wanted[start : start + self.description.batch]
            # copies: a row of the matrix would keep the whole matrix in memory
            answer = self._ask({"input": some}, len(some), "text", ends)
            vectors = {text: row.copy() for text, row in zip(some, answer, strict=True)}
            known |= vectors
            with self._lock:
                self._recent |= vectors
                while len(self._recent) > self.description.cache:
                    del self._recent[next(iter(self._recent))]
        return np.stack([known[text] for text in texts])

    @property
    def takes_pictures(self) -> bool:
        return self.description.pictures is not None

    def check_pictures(self) -> None:
        self.check()
        self._form()

    def picture_input(self, picture: PictureSource, parameter: str = "picture") -> str:
        """Return a data URL of the file as it is: the endpoint has a preprocessing of its own."""
        self._form()
        content = sound_content(picture, parameter)
        return f"data:{media_type_of(content)};base64,{b64encode(content).decode()}"

    def encode_pictures(self, inputs: Sequence[str], seconds: float | None = None) -> F32:
        form = self._form()
        ends = None if seconds is None else monotonic() + seconds
        parts = [inputs[start : start + PICTURES_AT_ONCE] for start in range(0, len(inputs), PICTURES_AT_ONCE)]
        found = [self._ask(form(part), len(part), "picture", ends) for part in parts]
        return np.concatenate([np.empty((0, self.dim), np.float32), *found])

    def _form(self) -> Callable[[Sequence[str]], dict[str, Any]]:
        if (name := self.description.pictures) is None:
            expected = "a collection whose encoder takes pictures"
            raise NoEncoder("picture", expected, "an endpoint whose description has no field pictures")
        return _PICTURE_FORMS[name]

    def _ask(self, asked: dict[str, Any], count: int, noun: str, ends: float | None) -> F32:
        if not self._breaker.allows():
            raise EncoderFailed(f"it failed {self.description.breaker_failures} times in a row and is left alone")
        try:
            vectors = self._vectors(asked, count, noun, ends)
        except _CutShort:
            raise
        except EncoderFailed as error:
            if self._breaker.failed():
                _log.warning("encoder %s is left alone for a while: %s", self.description.url, error)
            raise
        if self._breaker.succeeded():
            _log.info("encoder %s answers again", self.description.url)
        return vectors

    def _vectors(self, asked: dict[str, Any], count: int, noun: str, ends: float | None) -> F32:
        content = self._post(asked, count, noun, ends)
        try:
            data = json.loads(content)["data"]
            by_index = {item["index"]: item["embedding"] for item in data}
            rows = [by_index[index] for index in range(count)]
            complete = len(data) == count
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise EncoderFailed(f"its answer is not JSON of one embedding for each {noun}") from error
        if not complete:
            raise EncoderFailed(f"it answered with {len(data)} embeddings to {count} {noun}s")
        return checked(rows, count, self.dim)

    def _post(self, inputs: dict[str, Any], count: int, noun: str, ends: float | None) -> bytes:
        """Return the body of the answer to some inputs, at most as long as `count` vectors can be.

        Raises `EncoderTimeout` after its timeout or at `ends`, `TextRefused` for what it refuses, or `EncoderFailed`.
        """
        import httpx

        left = self.description.timeout
        late: type[EncoderTimeout] = EncoderTimeout
        if ends is not None and (remaining := ends - monotonic()) < left:
            left = remaining
            late = _CutShort
        if left <= 0:
            raise late("there was no time left to ask it")
        body: dict[str, Any] = {"model": self.description.model, **inputs}
        if self.description.dimensions:
            body["dimensions"] = self.description.dimensions
        most = _BYTES_BESIDE + _BYTES_A_NUMBER * count * self.dim
        content = bytearray()
        asked = partial(self._http.stream, "POST", "embeddings", json=body, headers=self._headers(), timeout=left)
        try:
            with within(left), asked() as response:
                if response.status_code != 200:
                    raise self._refusal(response, count, noun)
                for part in response.iter_bytes():
                    content += part
                    if len(content) > most:
                        raise EncoderFailed(f"it answered with more than {most} bytes")
        except httpx.TimeoutException as error:
            raise late("it did not answer in time") from error
        except httpx.ProxyError as error:
            raise EncoderFailed(f"the proxy before it refuses{by(self.description.url)}") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EncoderFailed(f"it cannot be reached{by(self.description.url)}") from error
        return bytes(content)

    def _refusal(self, response: "httpx.Response", count: int, noun: str) -> HublessError:
        """Return our error for an error answer: `TextRefused` if it is over the inputs, and else `EncoderFailed`."""
        content = bytearray()
        for part in response.iter_bytes():
            content += part
            if len(content) > MOST_READ:
                break
        message, field, kind = map(self._quoted, _said(bytes(content[:MOST_READ])))
        status = response.status_code
        quoted = f', "{message}"' if message else ""
        answered = f"it answered with status {status}"
        if status not in _OF_THE_TEXT:
            return EncoderFailed(answered + (f": {hint}" if (hint := _OF_THE_DESCRIPTION.get(status)) else ""))
        if "model" in kind.lower() or _OF_THE_MODEL.match(message.replace(self.description.model, "")):
            field = "model"
        if field not in ("", "None") and not field.startswith("input"):
            return EncoderFailed(f"{answered} about {field}{quoted}")
        parameter, expected = (noun, "one") if count == 1 else (f"{noun}s", "such")
        takes = f"{expected} that the collection's encoder takes"
        return TextRefused(parameter, takes, f"status {status} of it{quoted}")

    def _quoted(self, said: object) -> str:
        if not isinstance(said, str):
            return ""
        for secret in filter(None, (self.description.url, _key(self.description.api_key_env or ""))):
            said = said.replace(secret, "…")
        line = "".join(letter for letter in " ".join(said.split()) if letter.isprintable())
        return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"

    def _headers(self) -> dict[str, str]:
        name = self.description.api_key_env
        if name is None:
            return {}
        key = _key(name)
        if wrong := _wrong_key(key):
            raise EncoderFailed(f"the environment variable {name} with its key {wrong}")
        return {"Authorization": f"Bearer {key}"}


def _key(name: str) -> str:
    return os.environ.get(name, "").strip()


def _wrong_key(key: str) -> str:
    if not key:
        return "is not set"
    return "" if key.isascii() and key.isprintable() else "holds what no header can"


class _CutShort(EncoderTimeout):
    """The caller's time ended before the endpoint's own timeout."""


def _client(description: EndpointDescription) -> "httpx.Client":
    """Return a client that asks again after errors of the network, within the time of one request."""
    import httpx
    from httpx_retries import Retry, RetryTransport

    retry = Retry(
        total=description.retries,
        allowed_methods=["POST"],
        status_forcelist=_AGAIN,
        # not read timeouts: the endpoint may still work on the first request
        retry_on_exceptions=[httpx.NetworkError, httpx.RemoteProtocolError, httpx.ConnectTimeout],
        backoff_factor=0.1,
        max_backoff_wait=_LONGEST_WAIT,
    )
    limits = httpx.Limits(max_connections=description.connections, max_keepalive_connections=description.connections)
    sender = http_transport("encoder, url", description.url, limits)
    # the proxy and the certificates are those of the sender
    return httpx.Client(
        base_url=f"{description.url}/", transport=RetryTransport(sender, retry), trust_env=False, follow_redirects=False
    )


def _said(content: bytes) -> tuple[object, object, object]:
    """Return the message of an error, the field that it is about, and its kind, as OpenAI and its like name them."""
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError):
        return None, None, None
    error = document.get("error", document) if isinstance(document, dict) else None
    if not isinstance(error, dict):
        return error, None, None
    return error.get("message", error.get("detail")), error.get("param"), f"{error.get('code')} {error.get('type')}"
