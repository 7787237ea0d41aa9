/** What requests and answers hold. The names of their fields are those of the HTTP interface. */

import type { components } from "./openapi.js";
import type { VectorLike } from "./vectors.js";

type Schemas = components["schemas"];

/** The id of a target, as the ids of its collection are. Whole numbers above 2^53 are bigint. */
export type Id = string | number | bigint;

/** Values by column. */
export type Payload = Record<string, unknown>;

/** Which targets: a condition on a payload column, or `and`, `or`, `not` of filters. */
export type Filter = Schemas["Filter"];

/** How to search. The server decides what is not given. */
export type QueryOptions = Omit<Schemas["QueryRequest"], "vector" | "text" | "id">;

/** What to search for, and how: a vector, a text, or the id of a target to find more like it. */
export type Query = QueryOptions &
  (
    | { vector: VectorLike; text?: never; image?: never; id?: never }
    | { text: string; vector?: never; image?: never; id?: never }
    | { image: Uint8Array; vector?: never; text?: never; id?: never }
    | { id: Id; vector?: never; text?: never; image?: never }
  );

/** A target that somebody chose among the hits of a query: `position` is its rank, from 1, and `client` who it was. */
export interface Click {
  query: { vector: VectorLike } | { text: string } | { image: Uint8Array };
  target: Id;
  position?: number;
  client?: string;
}

/** A target that was found. Hits are sorted by score = similarity − strength · offset. */
export type Hit = Omit<Schemas["QueryHit"], "id" | "vector" | "payload"> & {
  id: Id;
  payload?: Payload | null;
  vector?: Float32Array;
};

/** The hits of one query, best first. `corrected`: whether a gated correction was on. */
export type Hits = Omit<Schemas["QueryAnswer"], "hits"> & { hits: Hit[] };

/** The hits of each query, in the order of the queries. */
export type BatchHits = Omit<Schemas["BatchAnswer"], "results"> & {
  results: (Omit<Schemas["QueryHits"], "hits"> & { hits: Hit[] })[];
};

/** A stored target. */
export type Point = Omit<Schemas["StoredTarget"], "id" | "vector" | "payload"> & {
  id: Id;
  payload?: Payload | null;
  vector?: Float32Array;
};

/** Several targets in the order of their ids, and the ids that no target has. */
export type Points = Omit<Schemas["PointsAnswer"], "points" | "missing"> & { points: Point[]; missing: Id[] };

/** A page of all targets, and the cursor of the next page, null after the last. */
export type Page = Omit<Schemas["ScrollAnswer"], "points"> & { points: Point[] };

/** Which targets to read, and what to send with each. */
export type ScrollOptions = Omit<Schemas["ScrollRequest"], "cursor">;

/** A target to store. */
export type PointToPut = { id: Id; payload?: Payload | null } & (
  | { vector: VectorLike; text?: never; image?: never }
  | { text: string; vector?: never; image?: never }
  | { image: Uint8Array; vector?: never; text?: never }
);

/** A target whose payload changes: the columns that are given, and no others. */
export interface PointToPatch {
  id: Id;
  payload: Payload;
}

/** How to write: `ifMatch` is the seq that the one target must still have; "memory" does not wait for the disk. */
export interface WriteOptions {
  ifMatch?: number;
  durability?: "disk" | "memory";
}

/** What was stored. `seq` is the number of the write, for `min_seq` of reads. */
export type Written = Schemas["PutAnswer"];

/** How many targets were deleted. `seq` is the number of the write, for `min_seq` of reads. */
export type Deleted = Schemas["DeleteAnswer"];

export type CollectionInfo = Schemas["CollectionAnswer"];
/** The settings of an empty collection; without `payload_schema` payload is any JSON object. */
export type NewCollection = Schemas["CreateCollectionRequest"];
export type LiveHubness = Schemas["HubnessAnswer"];
/** How often bank queries find each target; null where nobody counted. */
export type Occurrence = Schemas["OccurrenceAnswer"];
/** Which bank queries find a target. */
export type Findings = Schemas["FindingsAnswer"];
/** A scan for planted hubs that was kept. */
export type KeptScan = Schemas["KeptScan"];
/** Targets by column, and bank queries, on a plane. */
export type Projection = Schemas["ProjectionAnswer"];
export type BankInfo = Schemas["BankAnswer"];
/** What to do with a query bank; see docs/openapi.json. */
export type BankOptions = Omit<Schemas["PutBankRequest"], "vectors" | "texts" | "payload" | "sampled">;
export type BankQuery = Omit<Schemas["BankQueryAnswer"], "vector"> & { vector: Float32Array };
/** A correction of scores, and what it was learned from. */
export type ScoresInfo = Schemas["ScoresAnswer"];
/** Past answers of any search: ids and scores of each query, and perhaps `labelled` ones. */
export type ScoreLists = Schemas["PutScoresRequest"];
/** A list of any search with its correction, or a query to a collection. */
export type ListToRerank = Omit<Schemas["ListToRerank"], "ids" | "vector" | "id"> & {
  ids?: readonly Id[];
  vector?: VectorLike;
  id?: Id;
};
/** How to make one list of several. */
export type RerankOptions = Omit<Schemas["RerankRequest"], "lists">;
/** The hits of all lists, best first, each with the `parts` of its score. */
export type Reranked = Omit<Schemas["RerankAnswer"], "hits"> & {
  hits: (Omit<Schemas["RerankedHit"], "id"> & { id: Id })[];
};
export type AccessInfo = Schemas["AccessAnswer"];
export type VersionDetails = Schemas["VersionAnswer"];
export type VersionDiff = Schemas["DiffAnswer"];
export type VersionState = Schemas["VersionState"];
export type AliasInfo = Schemas["AliasAnswer"];

/** Whether the process runs, or answers queries; and the state of each collection. */
export type Health = { ok: boolean } & Partial<Schemas["ReadyAnswer"]>;
