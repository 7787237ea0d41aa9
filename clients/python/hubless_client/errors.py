"""Every error that the client raises on purpose.

    ClientError
    ├── CannotSend                  the call is wrong; nothing was sent
    ├── ConnectionFailed            no whole answer came: refused, reset, unknown host, TLS
    │   └── TimedOut                no whole answer came within the timeout
    ├── BadAnswer                   a success came that does not follow the HTTP contract
    └── ApiError                    the server answered with an error
        ├── ApiInvalidInput         400, 422: the request is wrong; sent again, it fails again
        │   ├── ApiMalformedRequest
        │   ├── ApiMalformedBody
        │   ├── ApiDimensionMismatch
        │   ├── ApiNotFinite
        │   ├── ApiZeroVector
        │   ├── ApiNoEncoder
        │   ├── ApiUnknownWords
        │   ├── ApiTextRefused
        │   └── ApiUnknownField
        ├── ApiAccessDenied         401, 403
        │   ├── ApiUnauthenticated  401
        │   └── ApiForbidden        403
        ├── ApiNotFound             404
        │   ├── ApiCollectionNotFound
        │   ├── ApiVersionNotFound
        │   ├── ApiAliasNotFound
        │   ├── ApiScoresNotFound
        │   ├── ApiPointNotFound
        │   └── ApiPictureNotFound
        ├── ApiMethodNotAllowed     405
        ├── ApiCursorExpired        410
        ├── ApiChangeRefused        the thing to change has another state than you expect: read it again
        │   ├── ApiPointExists           409
        │   ├── ApiCollectionExists      409
        │   ├── ApiCollectionAliased     409
        │   ├── ApiPreconditionFailed    412
        │   └── ApiPreconditionRequired  428
        ├── ApiBodyTooLarge         413
        ├── ApiHeadTooLarge         431
        ├── ApiUnsupportedMediaType 415
        ├── ApiUnavailable          the request may succeed later, see `retry_after`
        │   ├── ApiRequestTimeout   408
        │   ├── ApiTooManyRequests  429
        │   │   ├── ApiTooManyWrongKeys  429: the server checks no more API keys from your address
        │   │   └── ApiMergeNeeded       429: too many targets were added since the version was built
        │   ├── ApiNotReady         503: the server is loading or stopping
        │   ├── ApiEngineFailed     502: the engine that holds the vectors refuses, or lacks some
        │   ├── ApiEngineUnavailable  503: the engine that holds the vectors cannot be reached
        │   ├── ApiEncoderFailed    502: the encoder did not turn the text into a vector
        │   └── ApiDeadlineExceeded 504
        │       └── ApiEncoderTimeout    504: the encoder took too long
        └── ApiServerError          the other 5xx
            ├── ApiInternalError    500
            ├── ApiBundleDamaged    503: the files of the collection have changed since they were built
            ├── ApiUnsupportedBundle     503: another hubless built the collection
            ├── ApiLogDamaged       503: the writes to the collection cannot all be read
            └── ApiStorage          503: the disk of the server refuses

Catch `ClientError` to catch them all. A class below `ApiError` is named `Api` and the server's `code` in CamelCase.
The code is stable. If this version does not know a code, it raises the class of the status; `error.code` has the code.
"""

from collections.abc import Mapping
from typing import Any


class ClientError(Exception):
    """The base of all errors raised on purpose.

    Attributes
    ----------
    detail : what went wrong, for a person
    code : what went wrong, for a program; stable
    title : the code in words
    status : the HTTP status; None if no answer came
    request_id : the id of the request in the server's log; None if the server did not say
    extra : the other members of the server's problem document, such as "parameter", "expected", "received"
    retry_after : seconds to wait before you ask again; None if the server did not say
    """

    code: str = "client_error"

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
        """Take what the class has as attributes; what the server did not say is left out."""
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


class CannotSend(ClientError, ValueError):
    """The call says too little, too much, or something that no request can carry. Nothing was sent."""

    code = "cannot_send"


class ConnectionFailed(ClientError):
    """No whole answer came: refused, reset, unknown host, TLS."""

    code = "connection_failed"


class TimedOut(ConnectionFailed):
    """No whole answer came in time."""

    code = "timed_out"


class BadAnswer(ClientError):
    """A success came that does not follow the HTTP contract. Another service or a proxy may have answered."""

    code = "bad_answer"


class ApiError(ClientError):
    """The server answered with an error."""

    code = "error"


class ApiInvalidInput(ApiError, ValueError):
    """The request is wrong. Sent again, it fails again."""

    code = "invalid_input"

    @property
    def parameter(self) -> Any:
        """The part of the request that is wrong, as the server names it."""
        return self.extra.get("parameter")

    @property
    def expected(self) -> Any:
        """The value that the server needs there."""
        return self.extra.get("expected")

    @property
    def received(self) -> Any:
        """The value that the server got there."""
        return self.extra.get("received")


class ApiMalformedRequest(ApiInvalidInput):
    """The server got something else than HTTP. A proxy between you and the server may have changed it."""

    code = "malformed_request"


class ApiMalformedBody(ApiInvalidInput):
    """The server cannot parse the body."""

    code = "malformed_body"


class ApiDimensionMismatch(ApiInvalidInput):
    """The vector has another dimension than the collection."""

    code = "dimension_mismatch"


class ApiNotFinite(ApiInvalidInput):
    """The vector holds NaN or infinity, or a number that is too large for float32."""

    code = "not_finite"


class ApiZeroVector(ApiInvalidInput):
    """The vector has length zero, so it has no direction and no cosine similarity."""

    code = "zero_vector"


class ApiNoEncoder(ApiInvalidInput):
    """The query is a text, and the collection has no encoder."""

    code = "no_encoder"


class ApiUnknownWords(ApiInvalidInput):
    """The encoder knows no word of the text."""

    code = "unknown_words"


class ApiTextRefused(ApiInvalidInput):
    """The encoder does not take the text. It may be too long for the model."""

    code = "text_refused"


class ApiUnknownField(ApiInvalidInput):
    """The request names a field, or a column of the payload, that the server does not know."""

    code = "unknown_field"


class ApiAccessDenied(ApiError):
    """The API key is missing or wrong, or it does not allow this."""

    code = "access_denied"


class ApiUnauthenticated(ApiAccessDenied):
    """The server needs an API key. You sent none, or one that it does not know."""

    code = "unauthenticated"


class ApiForbidden(ApiAccessDenied):
    """The API key does not allow this."""

    code = "forbidden"


class ApiNotFound(ApiError, LookupError):
    """The thing that you named does not exist."""

    code = "not_found"


class ApiCollectionNotFound(ApiNotFound):
    """The server has no such collection."""

    code = "collection_not_found"


class ApiVersionNotFound(ApiNotFound):
    """The collection has no such version."""

    code = "version_not_found"


class ApiAliasNotFound(ApiNotFound):
    """The server has no such alias."""

    code = "alias_not_found"


class ApiScoresNotFound(ApiNotFound):
    """The server has no such correction of scores."""

    code = "scores_not_found"


class ApiPointNotFound(ApiNotFound):
    """No target has this id."""

    code = "point_not_found"


class ApiPictureNotFound(ApiNotFound):
    """There is no file of the target's picture, or none that can be read."""

    code = "picture_not_found"


class ApiMethodNotAllowed(ApiError):
    """The path does not take this method. The server has another version than the client, or is not hubless."""

    code = "method_not_allowed"


class ApiCursorExpired(ApiError):
    """The server no longer serves the version that you scroll through. Start again."""

    code = "cursor_expired"


class ApiChangeRefused(ApiError):
    """The thing to change has another state than you expect, or you did not say what you expect."""

    code = "change_refused"


class ApiPointExists(ApiChangeRefused):
    """A target has the id already, and you only want to insert."""

    code = "point_exists"


class ApiCollectionExists(ApiChangeRefused):
    """There is such a collection, with other settings."""

    code = "collection_exists"


class ApiCollectionAliased(ApiChangeRefused):
    """Aliases stand for the collection that you want to delete."""

    code = "collection_aliased"


class ApiPreconditionFailed(ApiChangeRefused):
    """Somebody else has changed it. Read it again."""

    code = "precondition_failed"


class ApiPreconditionRequired(ApiChangeRefused):
    """It exists already. Give its etag in `if_match`, or "*"."""

    code = "precondition_required"


class ApiBodyTooLarge(ApiError):
    """The server does not take requests of this size. Send smaller batches."""

    code = "body_too_large"


class ApiHeadTooLarge(ApiError):
    """The URL and the headers are too long for the server."""

    code = "head_too_large"


class ApiUnsupportedMediaType(ApiError):
    """The server does not take this form of body."""

    code = "unsupported_media_type"


class ApiUnavailable(ApiError):
    """The server cannot answer now. `retry_after` says when to ask again, if the server said so."""

    code = "unavailable"


class ApiRequestTimeout(ApiUnavailable):
    """The request came too slowly for the server."""

    code = "request_timeout"


class ApiTooManyRequests(ApiUnavailable):
    """The queue of the server is full."""

    code = "too_many_requests"


class ApiTooManyWrongKeys(ApiTooManyRequests):
    """Too many wrong API keys came from your address. The server checks no more of them until `retry_after`."""

    code = "too_many_wrong_keys"


class ApiMergeNeeded(ApiTooManyRequests):
    """Too many targets were added since the version was built. Run `hubless merge` on the server."""

    code = "merge_needed"


class ApiNotReady(ApiUnavailable):
    """The server is loading its collections, or is about to stop."""

    code = "not_ready"


class ApiDeadlineExceeded(ApiUnavailable):
    """The request took too long, and the server gave it up."""

    code = "deadline_exceeded"


class ApiEncoderFailed(ApiUnavailable):
    """The encoder of the collection fails or cannot be reached. Queries by vector still work."""

    code = "encoder_failed"


class ApiEncoderTimeout(ApiDeadlineExceeded):
    """The encoder of the collection did not answer in time. Queries by vector still work."""

    code = "encoder_timeout"


class ApiEngineFailed(ApiUnavailable):
    """The engine that holds the vectors of the collection refuses, or lacks what was built."""

    code = "engine_failed"


class ApiEngineUnavailable(ApiUnavailable):
    """The engine that holds the vectors of the collection cannot be reached."""

    code = "engine_unavailable"


class ApiServerError(ApiError):
    """The server failed. Its log has the reason under `request_id`."""

    code = "server_error"


class ApiInternalError(ApiServerError):
    """The server failed in a way that it did not foresee."""

    code = "internal_error"


class ApiBundleDamaged(ApiServerError):
    """The server cannot serve the collection: its files have changed since they were built."""

    code = "bundle_damaged"


class ApiUnsupportedBundle(ApiServerError):
    """The server cannot serve the collection: a newer hubless built it."""

    code = "unsupported_bundle"


class ApiLogDamaged(ApiServerError):
    """The server cannot read all that was written to the collection, so it takes no more writes."""

    code = "log_damaged"


class ApiStorage(ApiServerError):
    """The disk or the catalog of the server refuses."""

    code = "storage"
