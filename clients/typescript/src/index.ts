/** Ask a hubless server: vector search whose ranking is corrected for hubness. */

export { Client } from "./client.js";
export { accept, confidence, type CutNumbers } from "./cut.js";
export * from "./errors.js";
export type { components } from "./openapi.js";
export { DEFAULT_RETRIES, type Retries } from "./retries.js";
export type { CallOptions, ClientOptions } from "./transport.js";
export type * from "./types.js";
export type { VectorLike } from "./vectors.js";
