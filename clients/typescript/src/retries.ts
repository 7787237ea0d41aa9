/** When the client sends a request again. */

import { ApiError, CannotSend, ConnectionFailed, TimedOut } from "./errors.js";

/** How often and how patiently. */
export interface Retries {
  /** attempts after the first; 0 turns retries off */
  total: number;
  /** milliseconds; before attempt i (1, 2, ...) the client waits a random time from 0 to backoff · 2^i */
  backoff: number;
  /** milliseconds; the longest single wait, even if Retry-After asks for more */
  maxWait: number;
  /** milliseconds; the longest sum of waits in one call */
  maxTotalWait: number;
}

export const DEFAULT_RETRIES: Retries = { total: 3, backoff: 100, maxWait: 10_000, maxTotalWait: 30_000 };

const STATUSES = [429, 502, 503];

/** The retries with the defaults filled in. Throws CannotSend if a number is negative. */
export function checkedRetries(retries: Partial<Retries>): Retries {
  const all = { ...DEFAULT_RETRIES, ...retries };
  for (const [name, value] of Object.entries(all)) {
    if (!(value >= 0)) throw new CannotSend(`retries: expected ${name} of 0 or more, got ${value}`);
  }
  return all;
}

/** Whether the same request may succeed now. */
export function isPassing(error: unknown): boolean {
  // The server may still work on a request that timed out: a second one adds load.
  if (error instanceof ConnectionFailed) return !(error instanceof TimedOut);
  if (!(error instanceof ApiError) || !STATUSES.includes(error.status ?? 0)) return false;
  const fromProxy = error.code === undefined;
  // The wait after too many wrong keys is longer than a call should last.
  return fromProxy || (error.retryAfter !== undefined && error.code !== "too_many_wrong_keys");
}

/** Milliseconds to wait before attempt `attempt`, from 1. */
export function waitBefore(attempt: number, error: unknown, retries: Retries): number {
  const told = error instanceof ApiError ? error.retryAfter : undefined;
  const wanted = told !== undefined ? 1000 * told : Math.random() * retries.backoff * 2 ** attempt;
  return Math.min(wanted, retries.maxWait);
}
