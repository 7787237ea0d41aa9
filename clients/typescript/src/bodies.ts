/** What goes into a request: JSON, or vectors as plain bytes with the options in the URL. */

import { CannotSend } from "./errors.js";
import { stringify } from "./json.js";
import type { Request } from "./transport.js";
import type { Click, PointToPut, Query, QueryOptions } from "./types.js";
import { asBase64, inBase64, packed, type VectorLike } from "./vectors.js";

type Content = Pick<Request, "body" | "params">;

const POINT_FORMS = ["vector", "text", "image"];
const QUERY_FORMS = [...POINT_FORMS, "id"];

/** A JSON document. Throws CannotSend for what JSON cannot hold. */
export function inJson(document: object): Content {
  try {
    return { body: stringify(document) };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new CannotSend(`request: ${said}${ofPoint(document, said)}`, { cause: error });
  }
}

/** The id of the point that an error names by its place. */
function ofPoint(document: object, said: string): string {
  const [, row] = /^points\[(\d+)\]/.exec(said) ?? [];
  const points = "points" in document && row !== undefined ? (document.points as { id?: unknown }[]) : [];
  return points.length ? `, of the point with id ${String(points[Number(row)]?.id)}` : "";
}

/** One query. A vector goes as bytes where its options fit into a URL. */
export function contentOfQuery(query: Query): Content {
  checkOneOf(query);
  const { vector, ...rest } = query;
  if (vector === undefined) return inJson(documentOf(query));
  const params = inUrl(rest);
  return params ? { params, body: packed([vector], "vector") } : inJson(documentOf(query));
}

/** Several queries with options of their own, or several vectors with the same options; and how many. */
export function contentOfBatch(
  queries: readonly Query[] | ({ vectors: readonly VectorLike[] } & QueryOptions),
): { content: Content; count: number } {
  if (isList(queries)) {
    queries.forEach((query) => checkOneOf(query));
    return { content: inJson({ queries: queries.map((query) => documentOf(query)) }), count: queries.length };
  }
  const { vectors, ...options } = queries;
  if (!Array.isArray(vectors)) {
    throw new CannotSend(`queries: expected an array of queries, or { vectors: [...] }, got vectors: ${typeof vectors}`);
  }
  return { content: contentOfVectors(vectors, options), count: vectors.length };
}

/** Points, each with a vector, a text or a picture. */
export function documentsOfPoints(points: readonly PointToPut[]): object[] {
  return points.map((point, row) => {
    const where = `points[${row}]`;
    checkOneOf(point, where, POINT_FORMS);
    return documentOf(point, `${where}.`);
  });
}

/** Clicks, each with its query. */
export function contentOfClicks(clicks: readonly Click[]): Content {
  clicks.forEach(({ query }) => checkOneOf(query as Query));
  return inJson({ clicks: clicks.map((click) => ({ ...click, query: documentOf(click.query as Query) })) });
}

function contentOfVectors(vectors: readonly VectorLike[], options: QueryOptions): Content {
  const params = inUrl(options);
  if (params) {
    const body = packed(vectors, "vectors");
    // The server needs the dimension: two vectors of 384 have as many bytes as three of 256.
    return { params: { dim: vectors.length ? body.length / 4 / vectors.length : 0, ...params }, body };
  }
  return inJson({ queries: vectors.map((vector) => ({ ...options, vector: inBase64(vector, "vectors") })) });
}

// Array.isArray does not tell a read-only array from an object.
function isList<T>(value: readonly T[] | object): value is readonly T[] {
  return Array.isArray(value);
}

/** A query or a point, its vector or picture in base64. Errors say `where` it is. */
function documentOf(one: Query | PointToPut, where = ""): object {
  if (one.vector !== undefined) return { ...one, vector: inBase64(one.vector, `${where}vector`) };
  if (one.image === undefined) return one;
  const image: unknown = one.image;
  if (!(image instanceof Uint8Array)) {
    throw new CannotSend(`${where}image: expected the bytes of a picture, a Uint8Array, got ${typeof image}`);
  }
  return { ...one, image: asBase64(image) };
}

function checkOneOf(one: Query | PointToPut, name = "query", forms: readonly string[] = QUERY_FORMS): void {
  if (typeof one !== "object" || one === null) {
    throw new CannotSend(`${name}: expected an object such as { vector } or { text }, got ${typeof one}`);
  }
  const given = forms.filter((form) => one[form as keyof typeof one] !== undefined);
  if (given.length !== 1) {
    const known = `${forms.slice(0, -1).join(", ")} and ${forms.at(-1)}`;
    throw new CannotSend(`${name}: expected one of ${known}, got ${given.join(" and ") || "none of them"}`);
  }
}

/** The options as URL parameters; undefined if a URL cannot carry them. */
function inUrl(options: QueryOptions): Record<string, string | number> | undefined {
  const given = Object.entries(options).filter(([, value]) => value !== undefined && value !== null);
  const params: Record<string, string | number> = {};
  for (const [name, value] of given) {
    if (name === "with" && Array.isArray(value) && value.every((extra) => !extra.includes(","))) {
      if (value.length) params[name] = value.join(",");
    } else if (["number", "string", "boolean"].includes(typeof value)) {
      params[name] = typeof value === "number" ? value : String(value);
    } else {
      return undefined;
    }
  }
  return params;
}
