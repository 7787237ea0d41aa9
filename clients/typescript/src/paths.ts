/** The paths of the endpoints. Names and ids may hold any character, so they are quoted. */

import { CannotSend } from "./errors.js";
import { stringify } from "./json.js";
import type { Id } from "./types.js";

export const COLLECTIONS = "/v1/collections";
export const ALIASES = "/v1/aliases";
export const ACCESS = "/v1/access";
export const SCORES = "/v1/scores";
export const RERANK = "/v1/rerank";

/** The path of a collection, or of an endpoint below it. */
export function inCollection(collection: string, ...steps: string[]): string {
  return [COLLECTIONS, quoted("collection", collection), ...steps].join("/");
}

/** The path of a target. */
export function ofPoint(collection: string, id: Id): string {
  return inCollection(collection, "points", quoted("id", textOf(id)));
}

/** An id as a URL carries it. Throws CannotSend for what is none, and for a number that JavaScript has rounded. */
export function textOf(id: Id): string {
  if (typeof id === "string") return id;
  const kind = id === null ? "null" : typeof id;
  if (kind !== "number" && kind !== "bigint") throw new CannotSend(`id: expected a string or a number, got ${kind}`);
  try {
    return stringify(id, "id");
  } catch (error) {
    throw new CannotSend(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** The path of a version, or of an endpoint below it. */
export function ofVersion(collection: string, version: string, ...steps: string[]): string {
  return inCollection(collection, "versions", quoted("version", version), ...steps);
}

/** The path of an alias. */
export function ofAlias(name: string): string {
  return `${ALIASES}/${quoted("name", name)}`;
}

/** The path of a correction of scores. */
export function ofScores(name: string): string {
  return `${SCORES}/${quoted("name", name)}`;
}

function quoted(parameter: string, name: string): string {
  if (typeof name !== "string" || name === "") {
    throw new CannotSend(`${parameter}: expected at least one character, got ${name === "" ? "none" : typeof name}`);
  }
  // fetch resolves "." and ".." as steps of the path, in their quoted form too.
  if (name === "." || name === "..") {
    throw new CannotSend(`${parameter}: ${JSON.stringify(name)} cannot stand in a URL; ask with points() instead`);
  }
  try {
    return encodeURIComponent(name);
  } catch (error) {
    throw new CannotSend(`${parameter}: expected text that UTF-8 can carry`, { cause: error });
  }
}
