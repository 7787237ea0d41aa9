import { contentOfBatch, contentOfClicks, contentOfQuery, documentsOfPoints, inJson } from "./bodies.js";
import { BadAnswer } from "./errors.js";
import {
  ACCESS,
  ALIASES,
  COLLECTIONS,
  inCollection,
  ofAlias,
  ofPoint,
  ofScores,
  ofVersion,
  RERANK,
  SCORES,
  textOf,
} from "./paths.js";
import { type CallOptions, type ClientOptions, type Request, Transport, understood } from "./transport.js";
import type {
  AccessInfo,
  AliasInfo,
  BankInfo,
  BankOptions,
  BankQuery,
  BatchHits,
  Click,
  CollectionInfo,
  Deleted,
  Filter,
  Findings,
  Health,
  Hit,
  Hits,
  Id,
  KeptScan,
  ListToRerank,
  LiveHubness,
  NewCollection,
  Occurrence,
  Page,
  Point,
  Points,
  PointToPatch,
  PointToPut,
  Projection,
  Query,
  QueryOptions,
  RerankOptions,
  Reranked,
  ScoreLists,
  ScoresInfo,
  ScrollOptions,
  VersionDiff,
  VersionDetails,
  VersionState,
  WriteOptions,
  Written,
} from "./types.js";
import { inBase64, unpacked, type VectorLike } from "./vectors.js";

const DEFAULT_URL = "http://127.0.0.1:8000";
const SCROLL_LIMIT = 500; // few requests, and answers of moderate size

/**
 * Asks a hubless server. Every method takes `CallOptions` last, and throws `ClientError`, or the reason of your signal.
 *
 * @example
 * const client = new Client("http://127.0.0.1:8000");
 * const { hits } = await client.query("stdlib", { text: "split a string", limit: 3, with: ["payload"] });
 */
export class Client {
  readonly #transport: Transport;

  /** @param baseUrl of the server; it may have a path */
  constructor(baseUrl: string = DEFAULT_URL, options: ClientOptions = {}) {
    this.#transport = new Transport(baseUrl, options);
  }

  /** The URL of the server. */
  get baseUrl(): string {
    return this.#transport.baseUrl;
  }

  /** The best targets for a vector, for a text or the bytes of a picture if its encoder takes them, or for a target by its id. */
  async query(collection: string, query: Query, options?: CallOptions): Promise<Hits> {
    return this.#call("POST", inCollection(collection, "query"), contentOfQuery(query), hitsOf<Hits>, options);
  }

  /** The best targets for many vectors with the same options, or for many queries with their own, in one request. */
  async queryBatch(
    collection: string,
    queries: readonly Query[] | ({ vectors: readonly VectorLike[] } & QueryOptions),
    options?: CallOptions,
  ): Promise<BatchHits> {
    const { content, count } = contentOfBatch(queries);
    const read = (body: any): BatchHits => {
      const results = body.results.map(hitsOf);
      if (results.length !== count) throw new BadAnswer(`${results.length} answers to ${count} queries`);
      return { ...body, results };
    };
    return this.#call("POST", inCollection(collection, "query", "batch"), content, read, options);
  }

  /** One target: its offset, its payload, and its vector with `{ with: ["payload", "vector"] }`. */
  async point(collection: string, id: Id, wanted: { with?: string[] } = {}, options?: CallOptions): Promise<Point> {
    const params = wanted.with ? { with: wanted.with.join(",") } : {};
    return this.#call("GET", ofPoint(collection, id), { params }, pointOf, options);
  }

  /** Several targets, in the order of their ids. `missing` has the ids that no target has. */
  async points(
    collection: string,
    ids: readonly Id[],
    wanted: { with?: string[]; min_seq?: number } = {},
    options?: CallOptions,
  ): Promise<Points> {
    return this.#call("POST", inCollection(collection, "points"), inJson({ ids, ...wanted }), pointsOf<Points>, options);
  }

  /** One page of all targets, or of those that pass the filter, and the cursor of the next page. */
  async scrollPage(
    collection: string,
    page: ScrollOptions & { cursor?: string | null } = {},
    options?: CallOptions,
  ): Promise<Page> {
    return this.#call("POST", inCollection(collection, "scroll"), inJson(page), pointsOf<Page>, options);
  }

  /** All targets, or those that pass the filter. Fetches pages of `limit` targets, 500 by default. */
  async *scroll(collection: string, wanted: ScrollOptions = {}, options?: CallOptions): AsyncGenerator<Point, void> {
    let cursor: string | null = null;
    do {
      const page: Page = await this.scrollPage(collection, { limit: SCROLL_LIMIT, ...wanted, cursor }, options);
      yield* page.points;
      cursor = page.cursor;
    } while (cursor !== null);
  }

  /** The number of targets, or of those that pass the filter. */
  async count(
    collection: string,
    which: { filter?: Filter; min_seq?: number } = {},
    options?: CallOptions,
  ): Promise<number> {
    const read = (body: any) => number(body.count);
    return this.#call("POST", inCollection(collection, "count"), inJson(which), read, options);
  }

  /** Store targets, or replace those of the same ids; all or none. */
  async put(
    collection: string,
    points: readonly PointToPut[],
    how: WriteOptions & { mode?: "upsert" | "insert" | "update" | "ignore" } = {},
    options?: CallOptions,
  ): Promise<Written> {
    const once = how.ifMatch !== undefined || how.mode === "insert";
    const content = { ...writing({ points: documentsOfPoints(points) }, how), once };
    return this.#call("PUT", inCollection(collection, "points"), content, writtenOf<Written>, options);
  }

  /** Change the payload of targets, and of each the columns that are given; all or none. */
  async patch(
    collection: string,
    points: readonly PointToPatch[],
    how: WriteOptions = {},
    options?: CallOptions,
  ): Promise<Written> {
    const content = { ...writing({ points }, how), once: how.ifMatch !== undefined };
    return this.#call("PATCH", inCollection(collection, "points"), content, writtenOf<Written>, options);
  }

  /** Delete the targets of some ids, or all that meet a filter. Ids that no target has are passed over. */
  async delete(
    collection: string,
    which: { ids: readonly Id[] } | { filter: Filter },
    how: WriteOptions = {},
    options?: CallOptions,
  ): Promise<Deleted> {
    const path = inCollection(collection, "points", "delete");
    const content = { ...writing(which, how), once: how.ifMatch !== undefined };
    return this.#call("POST", path, content, writtenOf<Deleted>, options);
  }

  /** Delete one target. Throws an error with the code `point_not_found` if no target has the id. */
  async deletePoint(collection: string, id: Id, how: WriteOptions = {}, options?: CallOptions): Promise<Deleted> {
    const { ifMatch, ...params } = how;
    const content = { params, ...(ifMatch === undefined ? {} : { ifMatch: `"${ifMatch}"` }), once: true };
    return this.#call("DELETE", ofPoint(collection, id), content, writtenOf<Deleted>, options);
  }

  /** The collections that the server serves. */
  async collections(options?: CallOptions): Promise<CollectionInfo[]> {
    return this.#call("GET", COLLECTIONS, {}, (body) => list(body.collections), options);
  }

  /** One collection: its version, size, dimension, correction, index and measured quality. */
  async collection(name: string, options?: CallOptions): Promise<CollectionInfo> {
    return this.#call("GET", inCollection(name), {}, (body) => having(body, "dim"), options);
  }

  /** Create an empty collection. Nothing changes if it is there with these settings. */
  async createCollection(name: string, settings: NewCollection, options?: CallOptions): Promise<CollectionInfo> {
    return this.#call("PUT", inCollection(name), inJson(settings), (body) => having(body, "dim"), options);
  }

  /** Delete a collection, with all its versions and writes; with `aliases` the aliases that stand for it, too. */
  async deleteCollection(name: string, how: { aliases?: boolean } = {}, options?: CallOptions): Promise<void> {
    const params = how.aliases ? { aliases: "true" } : {};
    return this.#call("DELETE", inCollection(name), { params, once: true }, () => undefined, options);
  }

  /** How often the latest queries found each target, and how far these queries are from the query bank. */
  async hubness(collection: string, options?: CallOptions): Promise<LiveHubness> {
    const path = inCollection(collection, "hubness");
    return this.#call("GET", path, {}, (body) => having(body, "k"), options);
  }

  /** How often bank queries find each target, raw and corrected; the hubs, and what is never found. */
  async occurrence(collection: string, how: { limit?: number } = {}, options?: CallOptions): Promise<Occurrence> {
    const params = how.limit === undefined ? {} : { limit: String(how.limit) };
    return this.#call("GET", inCollection(collection, "occurrence"), { params }, (body) => having(body, "raw"), options);
  }

  /** Which bank queries find a target among their first ten. The first call for a version takes longest. */
  async findings(collection: string, id: Id, options?: CallOptions): Promise<Findings> {
    const path = inCollection(collection, "occurrence", "queries");
    return this.#call("GET", path, { params: { id: textOf(id) } }, (body) => having(body, "raw"), options);
  }

  /** The list that `hubless scan --set keep=true` kept last, of whichever version. null if none was kept. */
  async keptScan(collection: string, options?: CallOptions): Promise<KeptScan | null> {
    const path = inCollection(collection, "scan");
    return this.#call("GET", path, {}, (body) => having(body, "scan").scan, options);
  }

  /** Where targets and bank queries lie on a plane; with `column`, the values of a payload column, too. */
  async projection(collection: string, how: { column?: string } = {}, options?: CallOptions): Promise<Projection> {
    const params = how.column === undefined ? {} : { column: how.column };
    const path = inCollection(collection, "projection");
    return this.#call("GET", path, { params }, (body) => having(body, "targets"), options);
  }

  /**
   * Fit the correction on example queries, over all targets that there are: vectors, texts, those of payload columns, or
   * live queries, once so many are sampled. If that takes longer than
   * `timeout_ms`, the bank of the answer is `waiting`; `bank` tells how far it is.
   */
  async putBank(
    collection: string,
    queries: readonly VectorLike[] | { texts: readonly string[] } | { payload: readonly string[] } | { sampled: number },
    how: BankOptions = {},
    options?: CallOptions,
  ): Promise<BankInfo> {
    const vectors = (rows: readonly VectorLike[]) => rows.map((row, place) => inBase64(row, `vectors[${place}]`));
    const given = "length" in queries ? { vectors: vectors(queries) } : queries;
    const path = inCollection(collection, "bank");
    const content = { ...inJson({ ...given, ...how }), once: true };
    return this.#call("PUT", path, content, (body) => having(body, "queries"), options);
  }

  /** The query bank that the correction was fitted on, and how far the fit is of one that was put. */
  async bank(collection: string, options?: CallOptions): Promise<BankInfo> {
    return this.#call("GET", inCollection(collection, "bank"), {}, (body) => having(body, "queries"), options);
  }

  /** One of the stored bank queries. They count from 0. */
  async bankQuery(collection: string, number: number, options?: CallOptions): Promise<BankQuery> {
    const path = inCollection(collection, "bank", String(number));
    return this.#call("GET", path, {}, (body) => withVector(having(body, "vector")), options);
  }

  /** Tell which targets people chose; all or none. Returns how many clicks are kept. */
  async addClicks(collection: string, clicks: readonly Click[], options?: CallOptions): Promise<number> {
    const content = { ...contentOfClicks(clicks), once: true };
    return this.#call("POST", inCollection(collection, "clicks"), content, (body) => number(body.kept), options);
  }

  /** All corrections of scores that the client's key may see. */
  async allScores(options?: CallOptions): Promise<ScoresInfo[]> {
    return this.#call("GET", SCORES, {}, (body) => list(body.scores), options);
  }

  /** What a correction of scores was learned from. */
  async scores(name: string, options?: CallOptions): Promise<ScoresInfo> {
    return this.#call("GET", ofScores(name), {}, (body) => having(body, "items"), options);
  }

  /** Keep a correction that is learned from past lists of any search, and replace that of the same name. */
  async putScores(name: string, lists: ScoreLists, options?: CallOptions): Promise<ScoresInfo> {
    const content = { ...inJson(lists), once: true };
    return this.#call("PUT", ofScores(name), content, (body) => having(body, "items"), options);
  }

  /** Delete a correction of scores. */
  async deleteScores(name: string, options?: CallOptions): Promise<void> {
    return this.#call("DELETE", ofScores(name), { once: true }, () => undefined, options);
  }

  /** Correct lists of one query, each by its own correction, and make one list of them. */
  async rerank(lists: readonly ListToRerank[], how: RerankOptions = {}, options?: CallOptions): Promise<Reranked> {
    const sent = lists.map((each, place) =>
      each.vector === undefined ? each : { ...each, vector: inBase64(each.vector, `lists[${place}].vector`) },
    );
    return this.#call("POST", RERANK, inJson({ lists: sent, ...how }), (body) => having(body, "hits"), options);
  }

  /** What the client's key may do. */
  async access(options?: CallOptions): Promise<AccessInfo> {
    return this.#call("GET", ACCESS, {}, (body) => having(body, "role"), options);
  }

  /** One stored version: what it was built from, and what was measured. */
  async version(collection: string, version: string, options?: CallOptions): Promise<VersionDetails> {
    return this.#call("GET", ofVersion(collection, version), {}, (body) => having(body, "dim"), options);
  }

  /** What differs between a version and an older one: the one before, if `since` names no other. */
  async diff(
    collection: string,
    version: string,
    how: { since?: string } = {},
    options?: CallOptions,
  ): Promise<VersionDiff> {
    const params = how.since === undefined ? {} : { since: how.since };
    const path = ofVersion(collection, version, "diff");
    return this.#call("GET", path, { params }, (body) => having(body, "fields"), options);
  }

  /** All stored versions of a collection, oldest first. */
  async versions(collection: string, options?: CallOptions): Promise<VersionState[]> {
    const path = inCollection(collection, "versions");
    return this.#call("GET", path, {}, (body) => list(body.versions), options);
  }

  /** Serve another version. Returns all versions. */
  async activate(collection: string, version: string, options?: CallOptions): Promise<VersionState[]> {
    const path = ofVersion(collection, version, "activate");
    return this.#call("POST", path, {}, (body) => list(body.versions), options);
  }

  /** Other names of collections. */
  async aliases(options?: CallOptions): Promise<AliasInfo[]> {
    return this.#call("GET", ALIASES, {}, (body) => list(body.aliases), options);
  }

  /** The collection that an alias stands for, and the etag that you need to change it. */
  async alias(name: string, options?: CallOptions): Promise<AliasInfo> {
    return this.#call("GET", ofAlias(name), {}, aliasOf, options);
  }

  /** Set an alias. To move one that exists, give its etag as `ifMatch`, or "*" for any. */
  async setAlias(name: string, collection: string, ifMatch?: string, options?: CallOptions): Promise<AliasInfo> {
    return this.#call("PUT", ofAlias(name), { ...inJson({ collection }), ifMatch, once: true }, aliasOf, options);
  }

  /** Remove an alias with the etag `ifMatch`, or "*" for any. Returns what it stood for. */
  async removeAlias(name: string, ifMatch: string, options?: CallOptions): Promise<AliasInfo> {
    return this.#call("DELETE", ofAlias(name), { ifMatch, once: true }, aliasOf, options);
  }

  /** Whether the process runs. */
  async live(options?: CallOptions): Promise<Health> {
    return this.#call("GET", "/livez", { probe: true }, (body) => ({ ok: body.status === "ok" }), options);
  }

  /** Whether the server answers queries, and the state of each collection. Waits for nothing: ask again. */
  async ready(options?: CallOptions): Promise<Health> {
    const read = (body: any): Health => ({ ok: body.status === "ready", ...body });
    return this.#call("GET", "/readyz", { probe: true }, read, options);
  }

  async #call<T>(
    method: Request["method"],
    path: string,
    content: Partial<Request>,
    read: (body: any) => T,
    options: CallOptions = {},
  ): Promise<T> {
    return understood(await this.#transport.send({ method, path, ...content }, options), read);
  }
}

function writing(document: object, { ifMatch, ...how }: WriteOptions) {
  const content = inJson({ ...document, ...how });
  return ifMatch === undefined ? content : { ...content, ifMatch: `"${ifMatch}"` };
}

function withVector<T extends { vector?: unknown }>({ vector, ...rest }: T): any {
  const numbers = unpacked(vector);
  return numbers ? { ...rest, vector: numbers } : rest;
}

function hitsOf<T>(body: any): T {
  return { ...body, hits: list(body.hits).map((hit) => withVector(hit as Hit)) };
}

function pointsOf<T>(body: any): T {
  return { ...body, points: list(body.points).map((point) => withVector(point as Point)) };
}

function pointOf(body: any): Point {
  return withVector(having(body, "id"));
}

function writtenOf<T>(body: any): T {
  number(body.seq);
  return body;
}

function aliasOf(body: any): AliasInfo {
  return having(body, "etag");
}

function having(body: any, member: string): any {
  if (!(member in body)) throw new TypeError(`expected the member ${member}`);
  return body;
}

function list<T>(value: unknown): T[] {
  if (!Array.isArray(value)) throw new TypeError(`expected a list, got ${typeof value}`);
  return value as T[];
}

function number(value: unknown): number {
  if (typeof value !== "number") throw new TypeError(`expected a number, got ${typeof value}`);
  return value;
}
