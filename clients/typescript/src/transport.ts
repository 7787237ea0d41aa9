/** Sends requests with `fetch`, and makes errors of what goes wrong. */

import { ApiError, BadAnswer, CannotSend, classOf, ClientError, ConnectionFailed, TimedOut } from "./errors.js";
import { parse } from "./json.js";
import { checkedRetries, isPassing, type Retries, waitBefore } from "./retries.js";

/** How a client reaches its server. */
export interface ClientOptions {
  /** sent as `Authorization: Bearer` */
  apiKey?: string;
  /** milliseconds that one attempt may take, 30,000 by default */
  timeout?: number;
  /** when and how often a request is sent again; `{ total: 0 }` for never */
  retries?: Partial<Retries>;
  /** what to use instead of the global `fetch` */
  fetch?: typeof fetch;
}

/** Options of every call. */
export interface CallOptions {
  /** ends the call; its reason is thrown */
  signal?: AbortSignal;
  /** milliseconds that one attempt of this call may take */
  timeout?: number;
  /** sent as X-Request-ID; the server's log shows it */
  requestId?: string;
}

/** One request. */
export interface Request {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** below the base URL; its parts are quoted */
  path: string;
  params?: Record<string, string | number> | undefined;
  body?: string | Uint8Array<ArrayBuffer> | undefined;
  ifMatch?: string | undefined;
  /** a probe asks for the state of the server: it is sent once, and 503 is an answer */
  probe?: boolean;
  /** a second one would be refused, or do more than the first, which may have arrived: it is sent once */
  once?: boolean;
}

const DEFAULT_TIMEOUT = 30_000;
const EXCERPT = 200; // characters of a foreign body that an error quotes
const OWN_MEMBERS = ["type", "title", "status", "detail", "code", "request_id"];

export class Transport {
  readonly baseUrl: string;
  readonly #timeout: number;
  readonly #retries: Retries;
  readonly #headers: Record<string, string>;
  readonly #fetch: typeof fetch;

  constructor(baseUrl: string, options: ClientOptions) {
    this.baseUrl = checkedUrl(baseUrl);
    this.#timeout = checkedTimeout(options.timeout ?? DEFAULT_TIMEOUT);
    this.#retries = checkedRetries(options.retries ?? {});
    this.#headers = { Accept: "application/json, application/problem+json", ...authorization(options.apiKey) };
    this.#fetch = options.fetch ?? ((...request) => fetch(...request));
  }

  /** The JSON of a success. Throws ClientError, or the reason of `signal`. */
  async send(request: Request, options: CallOptions): Promise<unknown> {
    let waited = 0;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(request, options);
      } catch (error) {
        const isLast = request.probe || request.once || attempt > this.#retries.total;
        if (isLast || !isPassing(error)) throw error;
        const wait = waitBefore(attempt, error, this.#retries);
        waited += wait;
        if (waited > this.#retries.maxTotalWait) throw error;
        await sleep(wait, options.signal);
      }
    }
  }

  async #attempt(request: Request, options: CallOptions): Promise<unknown> {
    options.signal?.throwIfAborted();
    const timeout = checkedTimeout(options.timeout ?? this.#timeout);
    const clock = AbortSignal.timeout(timeout);
    const signal = options.signal ? AbortSignal.any([options.signal, clock]) : clock;
    const where = `${request.method} ${this.baseUrl}${request.path}`;
    const headers = this.#headersOf(request, options);
    let response: Response;
    let text: string;
    try {
      response = await this.#fetch(this.#url(request), {
        method: request.method,
        headers,
        body: request.body ?? null,
        signal,
        redirect: "manual", // a redirect would lose the key, or turn a POST into a GET
      });
      text = await response.text();
    } catch (error) {
      if (options.signal?.aborted) throw options.signal.reason;
      if (clock.aborted) throw new TimedOut(`${where}: no whole answer in ${timeout} ms`, { cause: error });
      throw new ConnectionFailed(`${where}: ${reasonOf(error)}`, { cause: error });
    }
    if (!response.ok && !(request.probe && response.status === 503)) throw problemOf(response, text);
    try {
      return parse(text);
    } catch (error) {
      throw new BadAnswer(`${where}: expected JSON of a hubless server, got ${excerpt(text)}`, {
        cause: error,
        status: response.status,
        requestId: response.headers.get("X-Request-ID") ?? undefined,
      });
    }
  }

  #url(request: Request): string {
    const params = Object.entries(request.params ?? {}).map(([name, value]) => [name, String(value)]);
    return this.baseUrl + request.path + (params.length ? `?${new URLSearchParams(params)}` : "");
  }

  #headersOf(request: Request, options: CallOptions): Record<string, string> {
    const headers = { ...this.#headers };
    if (request.body !== undefined) {
      headers["Content-Type"] = typeof request.body === "string" ? "application/json" : "application/octet-stream";
    }
    if (request.ifMatch !== undefined) headers["If-Match"] = printable("ifMatch", request.ifMatch);
    if (options.requestId !== undefined) headers["X-Request-ID"] = printable("requestId", options.requestId);
    return headers;
  }
}

/** Read an answer of the form that `read` expects. Throws BadAnswer if it has another. */
export function understood<T>(answer: unknown, read: (body: any) => T): T {
  try {
    return read(answer);
  } catch (error) {
    if (error instanceof ClientError) throw error;
    throw new BadAnswer(`not the answer of a hubless server: ${reasonOf(error)}`, { cause: error });
  }
}

function problemOf(response: Response, text: string): ApiError {
  const members = membersOf(text);
  const code = textOf(members["code"]);
  const kind = classOf(code, response.status);
  const location = response.headers.get("Location");
  const redirected = response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400);
  const detail = redirected
    ? `redirected to ${location ?? "another address"}; give that server as base URL`
    : textOf(members["detail"]) || excerpt(text) || response.statusText || `status ${response.status}`;
  return new kind(detail, {
    status: response.status,
    code,
    requestId: textOf(members["request_id"]) ?? response.headers.get("X-Request-ID") ?? undefined,
    retryAfter: secondsOf(response.headers.get("Retry-After")),
    extra: Object.fromEntries(Object.entries(members).filter(([name]) => !OWN_MEMBERS.includes(name))),
  });
}

function membersOf(text: string): Record<string, unknown> {
  try {
    const body = parse(text);
    return typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function excerpt(text: string): string {
  const line = text.slice(0, 4 * EXCERPT).split(/\s+/).join(" ").trim();
  return line.length > EXCERPT ? `${line.slice(0, EXCERPT)}…` : line;
}

function secondsOf(retryAfter: string | null): number | undefined {
  if (retryAfter === null) return undefined;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter);
  const moment = Date.parse(retryAfter);
  return Number.isNaN(moment) ? undefined : Math.max(0, (moment - Date.now()) / 1000);
}

function reasonOf(error: unknown): string {
  // Node's fetch says only "fetch failed"; its cause says why.
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || (cause as { code?: string }).code || cause.name;
}

function checkedUrl(baseUrl: string): string {
  let url: URL;
  try {
    url = new URL(baseUrl);
  } catch {
    throw new CannotSend(`baseUrl: expected a URL such as http://127.0.0.1:8000, got ${JSON.stringify(baseUrl)}`);
  }
  if (!["http:", "https:"].includes(url.protocol)) {
    throw new CannotSend(`baseUrl: expected http or https, got ${url.protocol.slice(0, -1)}`);
  }
  if (url.username || url.password) {
    throw new CannotSend("baseUrl: expected no user and no password, got some; give a key as apiKey");
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

function checkedTimeout(timeout: number): number {
  if (!(timeout > 0)) throw new CannotSend(`timeout: expected milliseconds above 0, got ${timeout}`);
  return Math.min(timeout, 2 ** 31 - 1); // the longest timer
}

function authorization(apiKey: string | undefined): Record<string, string> {
  return apiKey === undefined ? {} : { Authorization: `Bearer ${printable("apiKey", apiKey, true)}` };
}

function printable(parameter: string, value: string, secret = false): string {
  if (typeof value === "string" && /^[\x20-\x7e]+$/.test(value)) return value;
  const got = secret ? "something else; it may end in a line break" : JSON.stringify(value);
  throw new CannotSend(`${parameter}: expected printable ASCII, got ${got}`);
}

function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
