// What the client sends, and what it makes of answers, with a function instead of a network.
import assert from "node:assert/strict";
import test from "node:test";
import * as hubless from "../../dist/esm/index.js";

const { Client } = hubless;
const ORIGIN = { collection: "songs", version: "v1" };
const ONE = "AACAPwAAAEA="; // 1 and 2 as float32

function answering(...answers) {
  const sent = [];
  async function fetch(url, request) {
    sent.push({ url: String(url), ...request });
    const answer = answers[Math.min(sent.length, answers.length) - 1];
    if (answer instanceof Error) throw answer;
    const [body, status = 200, headers = {}] = Array.isArray(answer) ? answer : [answer];
    return new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers });
  }
  return { sent, client: new Client("http://hubless.test/below/", { fetch, retries: { backoff: 0 } }) };
}

// A fetch whose answer never comes. The timer keeps the process running, as a socket would.
function hanging(_url, { signal }) {
  return new Promise((_resolve, reject) => {
    const timer = setInterval(() => {}, 1000);
    signal.addEventListener("abort", () => {
      clearInterval(timer);
      reject(signal.reason);
    });
  });
}

function problem(code, status, headers = {}) {
  return [{ type: "x", title: "x", status, detail: "what was wrong", code, request_id: "r1", parameter: "p" }, status, headers];
}

test("vector goes as bytes, its options in the URL", async () => {
  const { client, sent } = answering({ hits: [], ...ORIGIN });
  await client.query("a b", { vector: [1, 2], limit: 3, strength: 0.5, explain: true, with: ["payload", "vector"] });
  const url = "http://hubless.test/below/v1/collections/a%20b/query?limit=3&strength=0.5&explain=true&with=payload%2Cvector";
  assert.equal(sent[0].url, url);
  assert.equal(sent[0].headers["Content-Type"], "application/octet-stream");
  assert.deepEqual([...sent[0].body], [0, 0, 128, 63, 0, 0, 0, 64]);
});

test("vector with a filter goes in base64", async () => {
  const { client, sent } = answering({ hits: [], ...ORIGIN });
  await client.query("songs", { vector: new Float32Array([1, 2]), filter: { field: "a", eq: 1 } });
  assert.deepEqual(JSON.parse(sent[0].body), { vector: ONE, filter: { field: "a", eq: 1 } });
});

test("column whose name has a comma goes in JSON", async () => {
  const { client, sent } = answering({ hits: [], ...ORIGIN });
  await client.query("songs", { vector: [1, 2], with: ["payload.a,b"] });
  assert.deepEqual(JSON.parse(sent[0].body), { vector: ONE, with: ["payload.a,b"] });
});

test("batch of vectors says its dimension", async () => {
  const { client, sent } = answering({ results: [{ hits: [] }, { hits: [] }], ...ORIGIN });
  await client.queryBatch("songs", { vectors: [[1, 2], [3, 4]], limit: 1 });
  assert.match(sent[0].url, /batch\?dim=2&limit=1$/);
  assert.equal(sent[0].body.length, 16);
});

test("batch of queries keeps the options of each", async () => {
  const { client, sent } = answering({ results: [{ hits: [] }, { hits: [] }], ...ORIGIN });
  await client.queryBatch("songs", [{ vector: [1, 2], limit: 1 }, { text: "x" }]);
  assert.deepEqual(JSON.parse(sent[0].body), { queries: [{ vector: ONE, limit: 1 }, { text: "x" }] });
});

test("vectors of hits and points are Float32Array", async () => {
  const hit = { id: "a", score: 1, similarity: 1, offset: 0, vector: [1, 2] };
  const found = await answering({ hits: [hit], ...ORIGIN }).client.query("songs", { text: "x" });
  assert.deepEqual(found.hits[0].vector, new Float32Array([1, 2]));
  const point = await answering({ id: "a", offset: 0, vector: [1, 2], ...ORIGIN }).client.point("songs", "a");
  assert.deepEqual(point.vector, new Float32Array([1, 2]));
});

test("scroll follows the cursors", async () => {
  const page = (id, cursor) => ({ points: [{ id, offset: 0 }], cursor, ...ORIGIN });
  const { client, sent } = answering(page(1, "next"), page(2, null));
  const ids = [];
  for await (const point of client.scroll("songs")) ids.push(point.id);
  assert.deepEqual(ids, [1, 2]);
  assert.deepEqual(sent.map((request) => JSON.parse(request.body).cursor), [null, "next"]);
});

test("alias is changed with its etag", async () => {
  const { client, sent } = answering({ alias: "a", collection: "songs", etag: '"2"' });
  await client.setAlias("a", "songs", '"1"');
  assert.equal(sent[0].headers["If-Match"], '"1"');
});

test("key and request id are sent", async () => {
  const sent = [];
  const fetch = async (_url, request) => (sent.push(request), new Response('{"count": 1}'));
  await new Client("http://hubless.test", { apiKey: "secret", fetch }).count("songs", {}, { requestId: "mine" });
  assert.equal(sent[0].headers.Authorization, "Bearer secret");
  assert.equal(sent[0].headers["X-Request-ID"], "mine");
});

for (const [name, call, message] of [
  ["neither vector nor text", (client) => client.query("songs", { limit: 1 }), /one of vector, text, image and id, got none/],
  ["both vector and text", (client) => client.query("songs", { vector: [1], text: "x" }), /got vector and text/],
  ["text as a vector", (client) => client.query("songs", { vector: "1,2" }), /vector: expected an array of numbers, got string/],
  ["words in a vector", (client) => client.query("songs", { vector: [1, "2"] }), /vector: expected numbers, got string at place 1/],
  ["rows of two lengths", (client) => client.queryBatch("songs", { vectors: [[1], [1, 2]] }), /row 0 has 1 numbers, row 1 has 2/],
  ["no queries", (client) => client.queryBatch("songs", {}), /queries: expected an array/],
  ["empty name", (client) => client.count(""), /collection: expected at least one character/],
  ["dots as an id", (client) => client.point("songs", ".."), /id: "\.\." cannot stand in a URL/],
  ["neither vector nor text to put", (client) => client.put("songs", [{ id: 1 }]), /points\[0\]: expected one of vector, text and image, got none/],
  ["two forms to put", (client) => client.put("songs", [{ id: 1, vector: [1], text: "x" }]), /points\[0\]: .* got vector and text/],
  ["a name as a picture to put", (client) => client.put("songs", [{ id: 1, image: "a.png" }]), /points\[0\]\.image: expected the bytes/],
  ["rounded id to put", (client) => client.put("songs", [{ id: 2 ** 53, vector: [1] }]), /points\[0\]\.id: expected a whole/],
  ["rounded id to patch", (client) => client.patch("songs", [{ id: 2 ** 53, payload: {} }]), /write 9007199254740993n/],
  ["rounded payload", (client) => client.patch("songs", [{ id: 1, payload: { a: [2 ** 53] } }]), /payload\.a\[0\]: expected a whole/],
  ["rounded id to delete", (client) => client.deletePoint("songs", 2 ** 53), /id: expected a whole number below 2\^53/],
  ["rounded ids to delete", (client) => client.delete("songs", { ids: [1, 2 ** 60] }), /ids\[1\]: expected a whole number/],
  ["rounded ids to read", (client) => client.points("songs", [2 ** 53]), /ids\[0\]: expected a whole number/],
  ["rounded id to read", (client) => client.point("songs", 2 ** 53), /id: expected a whole number/],
  ["rounded id to query", (client) => client.query("songs", { id: 2 ** 53 }), /id: expected a whole number/],
  ["rounded filter", (client) => client.count("songs", { filter: { field: "a", eq: 2 ** 53 } }), /filter\.eq: expected a whole/],
  ["rounded id to explain", (client) => client.findings("songs", 2 ** 53), /id: expected a whole number/],
  ["rounded ids to rerank", (client) => client.rerank([{ ids: [2 ** 53], scores: [1] }]), /lists\[0\]\.ids\[0\]: expected a whole/],
  ["rounded target of a click", (client) => client.addClicks("songs", [{ query: { text: "a" }, target: 2 ** 53 }]), /clicks\[0\]\.target: expected a whole/],
  ["no id to delete", (client) => client.deletePoint("songs", undefined), /id: expected a string or a number, got undefined/],
  ["half a letter", (client) => client.count("\ud800"), /collection: expected text that UTF-8 can carry/],
  ["NaN as strength", (client) => client.query("songs", { text: "x", strength: NaN }), /strength: expected a finite number/],
  ["timeout of nothing", (client) => client.count("songs", {}, { timeout: 0 }), /timeout: expected milliseconds above 0/],
  ["line break in an id", (client) => client.count("songs", {}, { requestId: "a\nb" }), /requestId: expected printable ASCII/],
]) {
  test(`${name}: nothing is sent`, async () => {
    const { client, sent } = answering({ hits: [], count: 1, ...ORIGIN });
    await assert.rejects(call(client), (error) => error instanceof hubless.CannotSend && message.test(error.message));
    assert.equal(sent.length, 0);
  });
}

test("addresses and keys that cannot be used are refused, and the key is not shown", () => {
  assert.throws(() => new Client("localhost:8000"), hubless.CannotSend);
  assert.throws(() => new Client("nowhere"), /baseUrl: expected a URL/);
  assert.throws(() => new Client("http://me:pw@hubless.test"), /expected no user and no password/);
  assert.throws(() => new Client("http://a", { retries: { total: -1 } }), /total of 0 or more/);
  assert.throws(
    () => new Client("http://a", { apiKey: "secret\n" }),
    (error) => error instanceof hubless.CannotSend && !error.message.includes("secret"),
  );
});

for (const [code, status, kind] of [
  ["dimension_mismatch", 422, "ApiInvalidInput"],
  ["unauthenticated", 401, "ApiAccessDenied"],
  ["collection_not_found", 404, "ApiNotFound"],
  ["point_exists", 409, "ApiChangeRefused"],
  ["deadline_exceeded", 504, "ApiUnavailable"],
  ["bundle_damaged", 503, "ApiServerError"],
  ["cursor_expired", 410, "ApiError"],
  ["a_code_of_tomorrow", 404, "ApiNotFound"],
  ["a_code_of_tomorrow", 501, "ApiServerError"],
]) {
  test(`${code} with ${status} is thrown as ${kind}`, async () => {
    const error = await answering(problem(code, status)).client.count("songs").catch((thrown) => thrown);
    assert.equal(error.constructor, hubless[kind]);
    assert.equal(error.name, kind);
    assert.deepEqual([error.code, error.status, error.requestId, error.extra], [code, status, "r1", { parameter: "p" }]);
    assert.equal(error.message, `${code}: what was wrong (${status}, request r1)`);
  });
}

test("server that says when to come back is asked again", async () => {
  const { client, sent } = answering(problem("too_many_requests", 429, { "Retry-After": "0" }), { count: 3 });
  assert.equal(await client.count("songs"), 3);
  assert.equal(sent.length, 2);
});

const POINTS = ["songs", [{ id: 1, vector: [1] }]];
const PATCHED = ["songs", [{ id: 1, payload: { a: 1 } }]];
const LOST = new TypeError("fetch failed", { cause: new Error("ECONNRESET") });

for (const [name, call, times] of [
  ["count", (client) => client.count("songs"), 2],
  ["put", (client) => client.put(...POINTS), 2],
  ["put to update", (client) => client.put(...POINTS, { mode: "update" }), 2],
  ["put to insert", (client) => client.put(...POINTS, { mode: "insert" }), 1],
  ["put of a seq", (client) => client.put(...POINTS, { ifMatch: 3 }), 1],
  ["patch", (client) => client.patch(...PATCHED), 2],
  ["patch of a seq", (client) => client.patch(...PATCHED, { ifMatch: 3 }), 1],
  ["delete", (client) => client.delete("songs", { ids: [1] }), 2],
  ["delete of a seq", (client) => client.delete("songs", { ids: [1] }, { ifMatch: 3 }), 1],
  ["deletePoint", (client) => client.deletePoint("songs", 1), 1],
  ["createCollection", (client) => client.createCollection("songs", { dim: 1, metric: "dot", id_type: "int64" }), 2],
  ["deleteCollection", (client) => client.deleteCollection("songs"), 1],
  ["activate", (client) => client.activate("songs", "v1"), 2],
  ["setAlias", (client) => client.setAlias("a", "songs"), 1],
  ["removeAlias", (client) => client.removeAlias("a", "*"), 1],
  ["putBank", (client) => client.putBank("songs", [[1]]), 1],
  ["addClicks", (client) => client.addClicks("songs", [{ query: { vector: [1] }, target: "x" }]), 1],
  ["putScores", (client) => client.putScores("words", { lists: [{ ids: ["a"], scores: [1] }] }), 1],
  ["deleteScores", (client) => client.deleteScores("words"), 1],
  ["rerank", (client) => client.rerank([{ ids: ["a"], scores: [1] }]), 2],
  ["live", (client) => client.live(), 1],
]) {
  test(`lost connection: ${name} is sent ${times === 2 ? "again" : "once"}`, async () => {
    const { client, sent } = answering(LOST, LOST, LOST, LOST, LOST);
    await assert.rejects(call(client), hubless.ConnectionFailed);
    assert.equal(sent.length === 1, times === 1);
  });
}

test("payload that JSON cannot hold is refused with its point and its key", async () => {
  const { client, sent } = answering({});
  const call = client.put("songs", [{ id: 1, vector: [1] }, { id: "y", vector: [1], payload: { k: [1, NaN] } }]);
  await assert.rejects(call, /points\[1\]\.payload\.k\[1\]: expected a finite number, got NaN, of the point with id y/);
  assert.equal(sent.length, 0);
});

for (const [name, answer] of [
  ["wrong keys too often", problem("too_many_wrong_keys", 429, { "Retry-After": "0" })],
  ["deadline in the server", problem("deadline_exceeded", 504, { "Retry-After": "0" })],
  ["damaged files", problem("bundle_damaged", 503)],
]) {
  test(`${name}: no second try`, async () => {
    const { client, sent } = answering(answer);
    await assert.rejects(client.count("songs"), hubless.ApiError);
    assert.equal(sent.length, 1);
  });
}

test("retries end, and the last error is thrown", async () => {
  const { client, sent } = answering(["<html>", 502]);
  await assert.rejects(client.count("songs"), hubless.ApiUnavailable);
  assert.equal(sent.length, 4);
});

test("probes are sent once, and 503 is an answer", async () => {
  const { client, sent } = answering([{ status: "loading", collections: {} }, 503, { "Retry-After": "1" }]);
  assert.deepEqual(await client.ready(), { ok: false, status: "loading", collections: {} });
  assert.equal(sent.length, 1);
});

test("your signal ends a call with its reason, also between tries", async () => {
  const control = new AbortController();
  const call = new Client("http://a.test", { fetch: hanging }).count("songs", {}, { signal: control.signal });
  control.abort(new Error("not wanted any more"));
  await assert.rejects(call, /not wanted any more/);

  const later = new AbortController();
  const fetch = async () => {
    queueMicrotask(() => setTimeout(() => later.abort(new Error("enough"))));
    return new Response("", { status: 503, headers: { "Retry-After": "9" } });
  };
  await assert.rejects(new Client("http://a.test", { fetch }).count("songs", {}, { signal: later.signal }), /enough/);
});

test("timeout is an error of its own", async () => {
  const error = await new Client("http://a.test", { fetch: hanging }).count("songs", {}, { timeout: 20 }).catch((e) => e);
  assert.ok(error instanceof hubless.TimedOut && error instanceof hubless.ConnectionFailed);
  assert.match(error.message, /no whole answer in 20 ms/);
});

for (const [name, body] of [["no JSON", "<html>"], ["another document", { no: "count" }], ["null", "null"]]) {
  test(`success with ${name} is a BadAnswer`, async () => {
    await assert.rejects(answering(body).client.count("songs"), hubless.BadAnswer);
    await assert.rejects(answering(body).client.query("songs", { text: "x" }), hubless.BadAnswer);
  });
}

test("redirect is named and not followed", async () => {
  const { client, sent } = answering(["", 307, { Location: "https://other.test/" }]);
  await assert.rejects(client.count("songs"), /redirected to https:\/\/other\.test\//);
  assert.equal(sent[0].redirect, "manual");
});

test("picture goes in base64", async () => {
  const { client, sent } = answering({ hits: [], ...ORIGIN });
  await client.query("songs", { image: new Uint8Array([255, 216, 255]), limit: 2 });
  assert.deepEqual(JSON.parse(sent[0].body), { image: "/9j/", limit: 2 });
  await assert.rejects(() => client.query("songs", { image: "red.png" }), /image: expected the bytes of a picture/);
  const written = answering({ seq: 1, inserted: 3, updated: 0, ...ORIGIN });
  await written.client.put("songs", [
    { id: 1, vector: [1, 2] },
    { id: 2, text: "x", payload: { a: 1 } },
    { id: 3, image: new Uint8Array([255, 216, 255]) },
  ]);
  const points = [{ id: 1, vector: ONE }, { id: 2, text: "x", payload: { a: 1 } }, { id: 3, image: "/9j/" }];
  assert.deepEqual(JSON.parse(written.sent[0].body), { points });
});
