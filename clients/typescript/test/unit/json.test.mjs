import assert from "node:assert/strict";
import test from "node:test";
import { parse, stringify } from "../../dist/esm/json.js";

test("whole numbers that a number cannot hold become bigint", () => {
  assert.deepEqual(parse('{"id": 9007199254740993, "small": 12}'), { id: 9007199254740993n, small: 12 });
  assert.deepEqual(parse("[-9223372036854775808]"), [-9223372036854775808n]);
});

test("largest safe number stays a number", () => {
  assert.deepEqual(parse("[9007199254740991, 9007199254740993]"), [9007199254740991, 9007199254740993n]);
});

test("fractions with many digits stay numbers", () => {
  assert.deepEqual(parse('{"score": 0.12345678901234567, "id": 90071992547409931}'), {
    score: 0.12345678901234567,
    id: 90071992547409931n,
  });
  assert.deepEqual(parse("[12345678901234567.5, 12345678901234567e3]"), [12345678901234567.5, 12345678901234567e3]);
});

test("digits in strings stay as they are", () => {
  const text = JSON.stringify({ a: 'quoted "9007199254740993', b: "bigint:9007199254740993", c: "\\" });
  assert.deepEqual(parse(`[${text}, 9007199254740993]`), [JSON.parse(text), 9007199254740993n]);
});

test("bigint is written with every digit, and strings that look like one stay strings", () => {
  assert.equal(stringify({ ids: [9007199254740993n, "9007199254740993", 1] }), '{"ids":[9007199254740993,"9007199254740993",1]}');
});

test("what JSON cannot hold is refused, with its name", () => {
  assert.throws(() => stringify({ strength: NaN }), /strength: expected a finite number, got NaN/);
  assert.throws(() => stringify({ filter: [Infinity] }), /expected a finite number, got Infinity/);
});

for (const rounded of [9007199254740993, -(2 ** 53), 2 ** 63, new Number(2 ** 60)]) {
  test(`${rounded} is refused, as it may have had other digits`, () => {
    const wanted = /^TypeError: ids\[1\]: expected a whole number below 2\^53, or a bigint: write 9007199254740993n, got /;
    assert.throws(() => stringify({ ids: [1, rounded] }), wanted);
  });
}

test("whole numbers of more than 64 bits are refused", () => {
  assert.throws(() => stringify({ a: [2n ** 64n] }), /^TypeError: a\[0\]: expected a whole number of 64 bits, or a string/);
  assert.throws(() => stringify({ a: -(2n ** 63n) - 1n }), /a: expected a whole number of 64 bits/);
  assert.equal(stringify([2n ** 64n - 1n, -(2n ** 63n)]), "[18446744073709551615,-9223372036854775808]");
});

test("numbers that nobody takes for whole ones are written, and boxed ones as they are", () => {
  const numbers = [2 ** 53 - 1, 0.1, 1e300, -1e21, new Number(7), Object(2n ** 60n), new String("a"), new Boolean(false)];
  assert.equal(stringify(numbers), '[9007199254740991,0.1,1e+300,-1e+21,7,1152921504606846976,"a",false]');
});

test("values of JavaScript are written as what JSON has for them", () => {
  const day = new Date(Date.UTC(2024, 1, 29));
  const value = { day, some: new Set([1, "a"]), map: new Map([["k", day]]), floats: new Float32Array([0.5, 2]) };
  assert.equal(
    stringify({ ...value, big: new BigInt64Array([2n ** 60n]), address: new URL("http://a.test/") }),
    '{"day":"2024-02-29T00:00:00.000Z","some":[1,"a"],"map":{"k":"2024-02-29T00:00:00.000Z"},"floats":[0.5,2],' +
      '"big":[1152921504606846976],"address":"http://a.test/"}',
  );
});

test("what JSON cannot hold is named with its place", () => {
  assert.throws(() => stringify({ a: { b: [new Date("never")] } }), /^TypeError: a\.b\[0\]: expected a date, got Invalid Date/);
  assert.throws(() => stringify({ a: new Map([["k", () => 1]]) }), /a\.k: expected a value that JSON can hold/);
  assert.throws(() => stringify({ a: new Float32Array([NaN]) }), /a\[0\]: expected a finite number/);
});
