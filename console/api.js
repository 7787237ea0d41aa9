// Asks the service. Whatever goes wrong is a Failure, which says what failed, why, and under which request id.
import { useCallback, useEffect, useRef, useState } from "./vendor/preact-htm.js";

/** Where the service is: one folder above this page, whatever prefix a proxy serves it under. */
export const BASE = new URL("../", document.baseURI);
const SECONDS = 30;
const STORED = "hubless.key";

let held = read();
let askForKey = () => {};

function read() {
  try {
    return sessionStorage.getItem(STORED);
  } catch {
    return null; // storage is switched off: the key lives as long as the page
  }
}

/** The headers of every request: whoever looks here asks nothing that counts as a query, or is learned from. */
const marked = () => ({ "X-No-Sample": "1", ...(held && { "X-API-Key": held }) });

/** The API key of this tab. It is never in localStorage, nor in the address. */
export const key = {
  get: () => held,
  set(value) {
    held = value || null;
    try {
      if (held) sessionStorage.setItem(STORED, held);
      else sessionStorage.removeItem(STORED);
    } catch {
      // kept in memory
    }
  },
  /** Call `ask(failure)` whenever the server wants a key, or another one. */
  onWanted(ask) {
    askForKey = ask;
  },
};

export class Failure extends Error {
  constructor(what, { status = 0, title = "", detail = "", code = "", requestId = "", body = null }) {
    super(detail || title);
    Object.assign(this, { what, status, title, detail, code, requestId, body });
  }
}

/** JSON whose whole numbers beyond 2^53 stay what they are, as ids may be such numbers. */
export function parse(text) {
  return JSON.parse(text, (name, value, context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
      ? BigInt(context.source)
      : value,
  );
}

export function stringify(value, space) {
  const written = (name, inner) => (typeof inner === "bigint" ? whole(inner) : inner);
  return JSON.stringify(value, written, space);
}

const whole = (number) => (JSON.rawJSON ? JSON.rawJSON(String(number)) : Number(number));

/**
 * Send a request.
 * @param what what the page wanted, for the message if it fails: "search", "list the versions"
 * @param path below BASE, its parts encoded
 * @returns {data, requestId, timing, headers}; timing is stage -> milliseconds
 */
export async function call(what, method, path, { body, headers = {}, signal } = {}) {
  const timeout = AbortSignal.timeout(SECONDS * 1000);
  const sent = { ...marked(), ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  let answer, text;
  try {
    answer = await fetch(new URL(path, BASE), {
      method,
      headers: sent,
      body: body === undefined ? undefined : stringify(body),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      cache: "no-store",
      credentials: "same-origin",
    });
    text = await answer.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    const slow = timeout.aborted;
    throw new Failure(what, {
      title: slow ? "No answer" : "The server cannot be reached",
      detail: slow ? `No answer within ${SECONDS} seconds.` : "It may be stopped, or the network is down.",
    });
  }
  const requestId = answer.headers.get("X-Request-ID") ?? "";
  let data = null;
  try {
    data = parse(text);
  } catch {
    const title = answer.ok ? "The answer is not JSON" : `Status ${answer.status}`;
    throw new Failure(what, { status: answer.status, title, detail: "Is there a proxy in between?", requestId });
  }
  if (!answer.ok) {
    const failure = new Failure(what, { status: answer.status, ...data, requestId, body: data });
    if (answer.status === 401 || data?.code === "too_many_wrong_keys") askForKey(failure);
    throw failure;
  }
  return { data, requestId, timing: timings(answer.headers.get("Server-Timing")), headers: answer.headers };
}

export const get = async (what, path, options) => (await call(what, "GET", path, options)).data;
export const post = async (what, path, body, options) => (await call(what, "POST", path, { ...options, body })).data;

/** The bytes of a picture; null if there is none. */
export async function blob(path) {
  // the browser keeps it, and asks whether it still holds
  const answer = await fetch(new URL(path, BASE), { headers: marked(), signal: AbortSignal.timeout(SECONDS * 1000), cache: "no-cache", credentials: "same-origin" });
  return answer.ok ? answer.blob() : null;
}

/** The path of a collection, or of something below it. */
export const of = (name, ...rest) => ["v1/collections", name, ...rest].map((part, i) => (i ? encodeURIComponent(part) : part)).join("/");

function timings(header) {
  const found = [...(header ?? "").matchAll(/([\w-]+);dur=([\d.]+)/g)];
  return Object.fromEntries(found.map(([, stage, milliseconds]) => [stage, Number(milliseconds)]));
}

/**
 * Load something, and again when `inputs` change, on `again()`, or every `seconds`.
 * @returns {data, failure, busy, again}: data stays while it is loaded anew; after a failure there is none
 */
export function useLoad(load, inputs, seconds = 0) {
  const [state, setState] = useState({ data: null, failure: null, busy: true });
  const running = useRef(null);
  const again = useCallback(() => {
    running.current?.abort();
    const mine = (running.current = new AbortController());
    setState((before) => ({ ...before, busy: true }));
    load(mine.signal).then(
      (data) => mine.signal.aborted || setState({ data, failure: null, busy: false }),
      (failure) => mine.signal.aborted || setState({ data: null, failure, busy: false }),
    );
  }, inputs);
  useEffect(() => {
    again();
    const timer = seconds && setInterval(() => document.hidden || again(), 1000 * seconds);
    return () => {
      clearInterval(timer);
      running.current?.abort();
    };
  }, [again, seconds]);
  return { ...state, again };
}
