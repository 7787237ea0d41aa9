/**
 * JSON whose whole numbers keep every digit. `JSON.parse` rounds 9007199254740993 to ...992, and a rounded id is the id
 * of another target. Whole numbers that a `number` cannot hold become `bigint`, in both directions.
 */

const LONG_NUMBER = /(?<![\d.])\d{16,}(?![\d.eE])/; // not the digits of a fraction, which most answers have
// A string as a whole, or a number outside of strings. Strings come first, so that digits in them stay as they are.
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const BOXES = [Number, BigInt, String, Boolean];

/** Read JSON. Throws a SyntaxError as `JSON.parse` does. */
export function parse(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  const mark = unusedMark(text);
  const marked = text.replace(TOKENS, (token) => (isLong(token) ? `"${mark}${token}"` : token));
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}

/**
 * Write JSON. Throws a TypeError with the place of what JSON cannot hold, such as NaN, and of whole numbers that
 * JavaScript may have rounded.
 */
export function stringify(value: unknown, place = ""): string {
  const bigints: bigint[] = [];
  const mark = `bigint-${Math.random().toString(36).slice(2)}-`;
  const text = JSON.stringify(plain(value, place), (_key, member: unknown) =>
    typeof member === "bigint" ? `${mark}${bigints.push(member) - 1}` : member,
  );
  if (text === undefined) throw new TypeError(`expected a value that JSON can hold, got ${typeof value}`);
  return bigints.length ? text.replace(new RegExp(`"${mark}(\\d+)"`, "g"), (_all, i) => String(bigints[i])) : text;
}

/** The value in objects and arrays. `JSON.stringify` makes `{}` of a Map or a Set, and null of a Date that is none. */
function plain(value: unknown, place: string): unknown {
  const misfit = (expected: string) =>
    new TypeError(`${place || "value"}: expected ${expected}, got ${String(value).slice(0, 60)}`);
  if (typeof value === "number" && !Number.isFinite(value)) throw misfit("a finite number");
  if (typeof value === "number" && isLong(String(value))) {
    // what was written as 9007199254740993 arrives as ...992, and nobody can tell
    throw misfit("a whole number below 2^53, or a bigint: write 9007199254740993n");
  }
  if (typeof value === "bigint" && BigInt.asIntN(64, value) !== value && BigInt.asUintN(64, value) !== value) {
    throw misfit("a whole number of 64 bits, or a string");
  }
  if (typeof value === "function" || typeof value === "symbol") throw misfit("a value that JSON can hold");
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw misfit("a date");
    return value.toISOString();
  }
  if (Array.isArray(value)) return value.map((member, row) => plain(member, `${place}[${row}]`));
  if (BOXES.some((box) => value instanceof box)) return plain(value.valueOf(), place);
  if (value instanceof Set || isTypedArray(value)) return plain([...value], place);
  if (value instanceof Map) return plain(Object.fromEntries(value), place);
  if ("toJSON" in value && typeof value.toJSON === "function") return plain(value.toJSON(), place);
  const members = Object.entries(value);
  return Object.fromEntries(members.map(([key, member]) => [key, plain(member, place ? `${place}.${key}` : key)]));
}

function isTypedArray(value: object): value is Iterable<number | bigint> & object {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

function isLong(token: string): boolean {
  return !token.startsWith('"') && /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token));
}

function unusedMark(text: string): string {
  let mark = "bigint:";
  while (text.includes(mark)) mark = `bigint-${Math.random().toString(36).slice(2)}:`;
  return mark;
}
