// Against a real server, whose address is in HUBLESS_URL: a collection "words" with an encoder, "numbers" with large
// ids, "written" for writes; see tests/typescript.
import assert from "node:assert/strict";
import test from "node:test";
import { ApiAccessDenied, ApiChangeRefused, ApiError, ApiInvalidInput, ApiNotFound, Client, ConnectionFailed } from "../../dist/esm/index.js";

const url = process.env.HUBLESS_URL;
const apiKey = process.env.HUBLESS_KEY;
const client = new Client(url, { apiKey });
const { dim } = await client.collection("words");
const vector = Float32Array.from({ length: dim }, (_, place) => Math.sin(place + 1));

test("score is similarity less strength times offset", async () => {
  const { hits, collection } = await client.query("words", { vector, limit: 5, strength: 0.5 });
  assert.equal(collection, "words");
  assert.equal(hits.length, 5);
  for (const hit of hits) assert.ok(Math.abs(hit.score - (hit.similarity - 0.5 * hit.offset)) < 1e-5);
});

test("bytes and base64 give the same hits", async () => {
  const filter = { field: "rank", gte: 0 };
  const [bytes, base64] = await Promise.all([
    client.query("words", { vector, params: undefined }),
    client.query("words", { vector, filter }),
  ]);
  assert.deepEqual(bytes.hits.map((hit) => hit.id), base64.hits.map((hit) => hit.id));
});

test("text, payload, vector and explanation", async () => {
  const { hits } = await client.query("words", { text: "amber", with: ["payload.rank", "vector"], explain: true, limit: 2 });
  assert.deepEqual(Object.keys(hits[0].payload), ["rank"]);
  assert.ok(hits[0].vector instanceof Float32Array && hits[0].vector.length === dim);
  assert.equal(hits[1].explanation.rank, 2);
});

test("batch answers in the order of its queries", async () => {
  const one = await client.query("words", { vector });
  const batch = await client.queryBatch("words", { vectors: [vector, vector.map((number) => -number)] });
  assert.deepEqual(batch.results[0].hits.map((hit) => hit.id), one.hits.map((hit) => hit.id));
  const mixed = await client.queryBatch("words", [{ text: "amber", limit: 1 }, { vector, limit: 3 }]);
  assert.deepEqual(mixed.results.map((result) => result.hits.length), [1, 3]);
});

test("ids above 2^53 keep every digit", async () => {
  const id = 2n ** 53n + 1n;
  const { points, missing } = await client.points("numbers", [id, 5]);
  assert.deepEqual([points[0].id, missing], [id, [5]]);
  assert.equal((await client.point("numbers", id)).id, id);
  const { hits } = await client.query("numbers", { id, limit: 3 });
  assert.ok(hits.length === 3 && hits.every((hit) => hit.id !== id));
});

test("scroll gives every target once", async () => {
  const ids = new Set();
  for await (const { id } of client.scroll("words", { limit: 37 })) ids.add(id);
  assert.equal(ids.size, await client.count("words"));
  assert.equal(await client.count("words", { filter: { field: "rank", lt: 10 } }), 10);
});

test("what is written is read at once, and deleted again", async () => {
  const point = { id: "new/one ü", vector, payload: { rank: 999 } };
  const { seq, inserted } = await client.put("written", [point], { mode: "insert" });
  assert.equal(inserted, 1);
  const { hits } = await client.query("written", { vector, limit: 1, min_seq: seq, strength: 0 });
  assert.equal(hits[0].id, point.id);
  await client.patch("written", [{ id: point.id, payload: { rank: 1000 } }]);
  assert.equal((await client.point("written", point.id)).payload.rank, 1000);
  await assert.rejects(client.put("written", [point], { mode: "insert" }), (error) => {
    return error instanceof ApiChangeRefused && error.code === "point_exists";
  });
  assert.equal((await client.deletePoint("written", point.id, { durability: "memory" })).deleted, 1);
  await assert.rejects(client.deletePoint("written", point.id), (error) => error.code === "point_not_found");
  await assert.rejects(client.point("written", point.id), (error) => error instanceof ApiNotFound);
});

test("empty collection is created, filled and deleted", async () => {
  const settings = { dim: 3, metric: "cosine", id_type: "int64" };
  assert.equal((await client.createCollection("made", settings)).count, 0);
  assert.equal((await client.createCollection("made", settings)).count, 0);
  await assert.rejects(client.createCollection("made", { ...settings, dim: 4 }), (error) => error.code === "collection_exists");
  await client.put("made", [{ id: 1, vector: [1, 0, 0], payload: { deep: { list: [1, "a"] } } }, { id: 2, vector: [0, 1, 0] }]);
  const { hits } = await client.query("made", { vector: [1, 0.1, 0], with: ["payload"] });
  assert.deepEqual([hits.map((hit) => hit.id), hits[0].payload], [[1, 2], { deep: { list: [1, "a"] } }]);
  await client.deleteCollection("made");
  await assert.rejects(client.collection("made"), ApiNotFound);
});

test("versions, aliases, hubness and health", async () => {
  const versions = await client.versions("words");
  assert.equal(versions.at(-1).current, true);
  assert.equal((await client.activate("words", versions.at(-1).version)).length, versions.length);
  const alias = await client.setAlias("w", "words");
  assert.deepEqual(await client.alias("w"), alias);
  assert.deepEqual((await client.aliases()).map((one) => one.alias), ["w"]);
  assert.equal((await client.query("w", { vector })).collection, "words");
  await assert.rejects(client.removeAlias("w", '"other"'), (error) => error.code === "precondition_failed");
  await client.removeAlias("w", alias.etag);
  assert.equal((await client.hubness("words")).k, 10);
  assert.ok((await client.collections()).some((one) => one.name === "words"));
  assert.deepEqual(await client.live(), { ok: true });
  assert.equal((await client.ready()).collections.words.status, "ready");
});

test("corrections of scores, and lists reranked by them", async () => {
  const lists = Array.from({ length: 40 }, (_, row) => ({ ids: ["hub", `own${row}`], scores: [2, 1.9 - row / 100] }));
  const made = await client.putScores("log", { lists });
  assert.deepEqual([made.name, made.items], ["log", 41]);
  assert.deepEqual(await client.scores("log"), made);
  assert.deepEqual(await client.allScores(), [made]);
  const { hits } = await client.rerank([{ ids: ["hub", "own0"], scores: [2, 1.9], correction: "log" }], { limit: 1 });
  assert.equal(hits[0].id, "own0");
  const both = await client.rerank([{ collection: "words", vector, limit: 3 }, { ids: ["other"], scores: [1], weight: 9 }]);
  assert.deepEqual([both.hits.length, both.hits[0].id, both.hits[0].parts.length], [4, "other", 2]);
  await client.deleteScores("log");
  await assert.rejects(client.scores("log"), ApiNotFound);
});

test("clicks", async () => {
  const { hits } = await client.query("words", { vector, limit: 2 });
  const clicks = [{ query: { vector }, target: hits[1].id, position: 2, client: "ann" }, { query: { text: "amber" }, target: hits[0].id }];
  assert.equal(await client.addClicks("words", clicks), 2);
  await assert.rejects(client.addClicks("words", [{ ...clicks[0], target: "none" }]), ApiNotFound);
});

test("hubs, map, bank and versions", async () => {
  const counted = await client.occurrence("words", { limit: 2 });
  assert.equal(counted.raw.hubs.length, 2);
  const hub = counted.raw.hubs[0].id;
  const { raw } = await client.findings("words", hub);
  assert.ok(raw.length > 0);
  assert.equal(await client.keptScan("words"), null);
  const drawn = await client.projection("words", { column: "title" });
  assert.ok(drawn.targets.id.includes(hub));
  assert.equal(drawn.targets.value.length, drawn.targets.id.length);
  const query = await client.bankQuery("words", raw[0].query);
  assert.ok(query.vector instanceof Float32Array);
  const { hits } = await client.query("words", { vector: query.vector, strength: 0 });
  assert.equal(hits[raw[0].rank - 1].id, hub);
  const [{ version }] = await client.versions("words");
  assert.equal((await client.version("words", version)).dim, query.vector.length);
  assert.deepEqual((await client.diff("words", version, { since: version })).fields, []);
  assert.equal((await client.access()).role, "admin");
});

test("errors say what the server says", async () => {
  const wrong = await client.query("words", { vector: [1, 2, 3] }).catch((error) => error);
  assert.ok(wrong instanceof ApiInvalidInput);
  assert.deepEqual([wrong.code, wrong.extra.parameter, wrong.extra.received], ["dimension_mismatch", "body", "12 bytes"]);
  await assert.rejects(client.query("nowhere", { vector }), (error) => error.code === "collection_not_found");
  await assert.rejects(new Client(url, { apiKey: "wrong" }).collections(), ApiAccessDenied);
  await assert.rejects(client.query("words", { vector, limit: 10 ** 6 }), ApiError);
});

test("server that is not there", async () => {
  const nobody = new Client("http://127.0.0.1:9", { retries: { total: 0 } });
  await assert.rejects(nobody.live(), (error) => error instanceof ConnectionFailed && /127\.0\.0\.1:9\/livez/.test(error.message));
});
