/**
 * Every error that the client throws on purpose.
 *
 *     ClientError
 *     ├── CannotSend          the call is wrong; nothing was sent
 *     ├── ConnectionFailed    no whole answer came
 *     │   └── TimedOut        no whole answer came within the timeout
 *     ├── BadAnswer           a success came that is not a hubless server's
 *     └── ApiError            the server answered with an error: `code` says which
 *         ├── ApiInvalidInput     400, 422: sent again, it fails again
 *         ├── ApiAccessDenied     401, 403
 *         ├── ApiNotFound         404
 *         ├── ApiChangeRefused    409, 412, 428: read what you want to change again
 *         ├── ApiUnavailable      may succeed later, see `retryAfter`
 *         └── ApiServerError      the other 5xx
 */

const INVALID_INPUT = [
  "invalid_input",
  "malformed_request",
  "malformed_body",
  "dimension_mismatch",
  "not_finite",
  "zero_vector",
  "no_encoder",
  "unknown_words",
  "text_refused",
  "unknown_field",
] as const;
const ACCESS_DENIED = ["unauthenticated", "forbidden"] as const;
const NOT_FOUND = [
  "not_found",
  "collection_not_found",
  "version_not_found",
  "alias_not_found",
  "scores_not_found",
  "point_not_found",
  "picture_not_found",
] as const;
const CHANGE_REFUSED = ["precondition_failed", "precondition_required", "point_exists", "collection_exists", "collection_aliased"] as const;
const UNAVAILABLE = [
  "request_timeout",
  "too_many_requests",
  "too_many_wrong_keys",
  "merge_needed",
  "not_ready",
  "encoder_failed",
  "encoder_timeout",
  "engine_failed",
  "engine_unavailable",
  "deadline_exceeded",
] as const;
const SERVER_ERROR = ["internal_error", "bundle_damaged", "unsupported_bundle", "log_damaged", "storage"] as const;
const OTHER = [
  "method_not_allowed",
  "cursor_expired",
  "body_too_large",
  "head_too_large",
  "unsupported_media_type",
] as const;

/** All codes that this version knows. The server's table of errors explains them. */
export const ERROR_CODES = [
  ...INVALID_INPUT,
  ...ACCESS_DENIED,
  ...NOT_FOUND,
  ...CHANGE_REFUSED,
  ...UNAVAILABLE,
  ...SERVER_ERROR,
  ...OTHER,
] as const;

/** What went wrong, for a program. */
export type ErrorCode = (typeof ERROR_CODES)[number];

/** What an error carries beside its message. */
export interface ErrorDetails {
  cause?: unknown;
  status?: number | undefined;
  code?: string | undefined;
  requestId?: string | undefined;
  retryAfter?: number | undefined;
  extra?: Readonly<Record<string, unknown>> | undefined;
}

/** The base of all errors that the client throws on purpose. */
export class ClientError extends Error {
  /** what went wrong, for a person */
  readonly detail: string;
  /** the HTTP status; undefined if no answer came */
  readonly status: number | undefined;
  /** the id of the request in the server's log */
  readonly requestId: string | undefined;

  constructor(detail: string, details: ErrorDetails = {}) {
    const origin = [details.status, details.requestId && `request ${details.requestId}`].filter(Boolean).join(", ");
    const code = details.code ? `${details.code}: ` : "";
    super(`${code}${detail}${origin && ` (${origin})`}`, "cause" in details ? { cause: details.cause } : undefined);
    this.name = new.target.name;
    this.detail = detail;
    this.status = details.status;
    this.requestId = details.requestId;
  }
}

/** The call says too little, too much, or something that no request can carry. Nothing was sent. */
export class CannotSend extends ClientError {}

/** No whole answer came: refused, reset, unknown host, TLS. */
export class ConnectionFailed extends ClientError {}

/** No whole answer came within the timeout. */
export class TimedOut extends ConnectionFailed {}

/** A success came that is not the answer of a hubless server. */
export class BadAnswer extends ClientError {}

/** The server answered with an error. */
export class ApiError extends ClientError {
  /** what went wrong, for a program; a newer server may have codes that `ErrorCode` lacks */
  readonly code: ErrorCode | (string & {}) | undefined;
  /** seconds to wait before you ask again */
  readonly retryAfter: number | undefined;
  /** other members of the problem document, such as `parameter`, `expected`, `received` */
  readonly extra: Readonly<Record<string, unknown>>;

  constructor(detail: string, details: ErrorDetails = {}) {
    super(detail, details);
    this.code = details.code;
    this.retryAfter = details.retryAfter;
    this.extra = details.extra ?? {};
  }
}

/** The request is wrong. Sent again, it fails again. */
export class ApiInvalidInput extends ApiError {}

/** The key is missing or unknown, or it does not allow this. */
export class ApiAccessDenied extends ApiError {}

/** There is no such collection, version, alias or target. */
export class ApiNotFound extends ApiError {}

/** What you want to change has another state than you expect. Read it again. */
export class ApiChangeRefused extends ApiError {}

/** The request may succeed later. */
export class ApiUnavailable extends ApiError {}

/** The server failed. */
export class ApiServerError extends ApiError {}

type ErrorClass = new (detail: string, details?: ErrorDetails) => ApiError;

const CLASSES: readonly (readonly [ErrorClass, readonly string[], readonly number[]])[] = [
  [ApiInvalidInput, INVALID_INPUT, [400, 422]],
  [ApiAccessDenied, ACCESS_DENIED, [401, 403]],
  [ApiNotFound, NOT_FOUND, [404]],
  [ApiChangeRefused, CHANGE_REFUSED, [409, 412, 428]],
  [ApiUnavailable, UNAVAILABLE, [408, 429, 502, 503, 504]],
  [ApiServerError, SERVER_ERROR, []],
];

/** The class of a code; of a code that is not known, the class of the status. */
export function classOf(code: string | undefined, status: number): ErrorClass {
  if (code !== undefined && (ERROR_CODES as readonly string[]).includes(code)) {
    return CLASSES.find(([, codes]) => codes.includes(code))?.[0] ?? ApiError;
  }
  return CLASSES.find(([, , statuses]) => statuses.includes(status))?.[0] ?? (status >= 500 ? ApiServerError : ApiError);
}
