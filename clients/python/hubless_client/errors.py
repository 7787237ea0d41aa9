"""Every error that the client raises on purpose.

    HublessError
    ├── CannotSend                  refused here, nothing was sent
    ├── ConnectionFailed            no whole answer came: refused, reset, unknown host, TLS
    │   └── TimedOut                ... within the timeout
    ├── BadAnswer                   a success came that is not what the contract promises
    └── ProblemError                the server answered with an error
        ├── InputError              400, 422: wrong in itself, so the same request fails again
        │   ├── MalformedBody
        │   ├── DimensionMismatch
        │   ├── NotFinite
        │   ├── ZeroVector
        │   ├── NoEncoder
        │   ├── UnknownWords
        │   ├── TextRefused
        │   └── UnknownField
        ├── AccessError             401, 403
        │   ├── Unauthenticated     401
        │   └── Forbidden           403
        ├── NotFoundError           404
        │   ├── CollectionNotFound
        │   ├── VersionNotFound
        │   ├── AliasNotFound
        │   └── PointNotFound
        ├── MethodNotAllowed        405
        ├── CursorExpired           410
        ├── ChangeRefused           what is to be changed is not as expected: get it anew
        │   ├── PreconditionFailed  412
        │   └── PreconditionRequired 428
        ├── BodyTooLarge            413
        ├── UnsupportedMediaType    415
        ├── Unavailable             may succeed later, see `retry_after`
        │   ├── RequestTimeout      408
        │   ├── TooManyRequests     429
        │   │   └── TooManyWrongKeys 429: no API key from this address is looked at
        │   ├── NotReady            503: loading or draining
        │   ├── EncoderFailed       502: a text could not be turned into a vector
        │   └── DeadlineExceeded    504
        │       └── EncoderTimeout  504: nor in time
        └── ServerError             the other 5xx
            ├── InternalError       500
            ├── BundleDamaged       503: a collection's files are not what was built
            ├── BundleTooNew        503: a collection was built by a newer hubless
            └── StorageError        503: the disk refuses

Catching `HublessError` catches them all. The server's `code` picks the class; a code that this version does not know
falls back to the class of the status and stays readable as `error.code`.
"""

from collections.abc import Mapping
from typing import Any


class HublessError(Exception):
    """The base of all errors raised on purpose.

    Attributes
    ----------
    detail : what went wrong, for a person
    code : what went wrong, for a program; stable
    title : the code in words
    status : the HTTP status, None when no answer came
    request_id : what the server logged this request under, None when it did not say
    extra : the further members of the server's problem document, such as "parameter", "expected", "received"
    retry_after : seconds after which the server wants to be asked again, None when it did not say
    """

    code: str = "error"

    def __init__(
        self,
        detail: str,
        *,
        status: int | None = None,
        code: str | None = None,
        title: str = "",
        request_id: str | None = None,
        extra: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.code = code or type(self).code
        self.title = title
        self.request_id = request_id
        self.extra = dict(extra or {})
        self.retry_after = retry_after

    def __str__(self) -> str:
        origin = [str(self.status)] if self.status else []
        if self.request_id:
            origin.append(f"request {self.request_id}")
        return f"{self.code}: {self.detail}" + (f" ({', '.join(origin)})" if origin else "")


class CannotSend(HublessError, ValueError):
    """The call says too little, too much, or what no request can carry; nothing was sent."""

    code = "cannot_send"


class ConnectionFailed(HublessError):
    """No whole answer came: refused, reset, unknown host, TLS."""

    code = "connection_failed"


class TimedOut(ConnectionFailed):
    """No whole answer came in time."""

    code = "timed_out"


class BadAnswer(HublessError):
    """A success came that is not what the contract promises: another service, or a proxy, may have answered."""

    code = "bad_answer"


class ProblemError(HublessError):
    """The server answered with an error."""

    code = "http_error"


class InputError(ProblemError, ValueError):
    """The request is wrong in itself: sent again, it fails again."""

    code = "invalid_input"

    @property
    def parameter(self) -> Any:
        """The part of the request that is wrong, as the server names it."""
        return self.extra.get("parameter")

    @property
    def expected(self) -> Any:
        """What the server needs there."""
        return self.extra.get("expected")

    @property
    def received(self) -> Any:
        """What the server got there."""
        return self.extra.get("received")


class MalformedBody(InputError):
    """The body does not parse."""

    code = "malformed_body"


class DimensionMismatch(InputError):
    """The vector has another dimension than the collection."""

    code = "dimension_mismatch"


class NotFinite(InputError):
    """The vector holds NaN or infinity, or a number that is infinite once cast to float32."""

    code = "not_finite"


class ZeroVector(InputError):
    """A vector of length zero has no direction, so no cosine similarity."""

    code = "zero_vector"


class NoEncoder(InputError):
    """A text was given to a collection that has no encoder."""

    code = "no_encoder"


class UnknownWords(InputError):
    """The encoder knows no word of the text."""

    code = "unknown_words"


class TextRefused(InputError):
    """The encoder does not take the text, such as one that is too long for its model."""

    code = "text_refused"


class UnknownField(InputError):
    """The request has a field that the server does not know."""

    code = "unknown_field"


class AccessError(ProblemError):
    """The API key is missing, wrong, or may not do this."""

    code = "access"


class Unauthenticated(AccessError):
    """The server wants an API key, and none was given that it knows."""

    code = "unauthenticated"


class Forbidden(AccessError):
    """The API key does not allow this."""

    code = "forbidden"


class NotFoundError(ProblemError, LookupError):
    """The thing that was named does not exist."""

    code = "not_found"


class CollectionNotFound(NotFoundError):
    """The server has no such collection."""

    code = "collection_not_found"


class VersionNotFound(NotFoundError):
    """The collection has no such version."""

    code = "version_not_found"


class AliasNotFound(NotFoundError):
    """The server has no such alias."""

    code = "alias_not_found"


class PointNotFound(NotFoundError):
    """No target bears the id."""

    code = "point_not_found"


class MethodNotAllowed(ProblemError):
    """The path does not take this method: the server is older or newer than the client, or no hubless server."""

    code = "method_not_allowed"


class CursorExpired(ProblemError):
    """The version that was scrolled through is served no more: scroll from the start."""

    code = "cursor_expired"


class ChangeRefused(ProblemError):
    """What is to be changed is not as the caller expects, or the caller did not say what that is."""

    code = "change_refused"


class PreconditionFailed(ChangeRefused):
    """Somebody else has changed it meanwhile: get it anew."""

    code = "precondition_failed"


class PreconditionRequired(ChangeRefused):
    """It is there already: say in `if_match` the etag that it has, or "*"."""

    code = "precondition_required"


class BodyTooLarge(ProblemError):
    """The request is larger than the server takes: send smaller batches."""

    code = "body_too_large"


class UnsupportedMediaType(ProblemError):
    """The server does not take this form of body."""

    code = "unsupported_media_type"


class Unavailable(ProblemError):
    """The server cannot answer now; `retry_after` tells when to ask again, if the server said so."""

    code = "unavailable"


class RequestTimeout(Unavailable):
    """The request came too slowly for the server."""

    code = "request_timeout"


class TooManyRequests(Unavailable):
    """The server's queue is full."""

    code = "too_many_requests"


class TooManyWrongKeys(TooManyRequests):
    """Too many wrong API keys came from this address: the server looks at none from there until `retry_after`."""

    code = "too_many_wrong_keys"


class NotReady(Unavailable):
    """The server is loading its collections, or is about to stop."""

    code = "not_ready"


class DeadlineExceeded(Unavailable):
    """The server gave the request up because it took too long."""

    code = "deadline_exceeded"


class EncoderFailed(Unavailable):
    """The collection's encoder cannot be reached or fails; queries by vector are answered all the same."""

    code = "encoder_failed"


class EncoderTimeout(DeadlineExceeded):
    """The collection's encoder did not answer in time."""

    code = "encoder_timeout"


class ServerError(ProblemError):
    """The server failed; its log has the reason under `request_id`."""

    code = "server_error"


class InternalError(ServerError):
    """The server ran into something that it did not expect."""

    code = "internal_error"


class BundleDamaged(ServerError):
    """The collection cannot be served: its files are not what was built."""

    code = "bundle_damaged"


class BundleTooNew(ServerError):
    """The collection cannot be served: it was built by a newer hubless than the server is."""

    code = "bundle_too_new"


class StorageError(ServerError):
    """The server's disk or catalog refuses."""

    code = "storage"


BY_CODE: Mapping[str, type[ProblemError]] = {
    kind.code: kind
    for kind in (
        InputError,
        MalformedBody,
        DimensionMismatch,
        NotFinite,
        ZeroVector,
        NoEncoder,
        UnknownWords,
        TextRefused,
        UnknownField,
        Unauthenticated,
        Forbidden,
        NotFoundError,
        CollectionNotFound,
        VersionNotFound,
        AliasNotFound,
        PointNotFound,
        MethodNotAllowed,
        CursorExpired,
        PreconditionFailed,
        PreconditionRequired,
        BodyTooLarge,
        UnsupportedMediaType,
        RequestTimeout,
        TooManyRequests,
        TooManyWrongKeys,
        NotReady,
        DeadlineExceeded,
        InternalError,
        EncoderFailed,
        EncoderTimeout,
        BundleDamaged,
        BundleTooNew,
        StorageError,
    )
}

BY_STATUS: Mapping[int, type[ProblemError]] = {
    400: InputError,
    401: AccessError,
    403: AccessError,
    404: NotFoundError,
    405: MethodNotAllowed,
    408: RequestTimeout,
    410: CursorExpired,
    412: ChangeRefused,
    413: BodyTooLarge,
    415: UnsupportedMediaType,
    422: InputError,
    428: ChangeRefused,
    429: TooManyRequests,
    500: InternalError,
    502: Unavailable,
    503: Unavailable,
    504: DeadlineExceeded,
}


def kind_of(code: object, status: int) -> type[ProblemError]:
    """The class for a problem: by its code, else by its status."""
    if isinstance(code, str) and code in BY_CODE:
        return BY_CODE[code]
    return BY_STATUS.get(status, ServerError if status >= 500 else ProblemError)
