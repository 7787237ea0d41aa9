/**
 * JSON whose whole numbers keep every digit. `JSON.parse` rounds 9007199254740993 to ...992, and a rounded id is the id
 * of another target. Whole numbers that a `number` cannot hold become `bigint`, in both directions.
 */

const LONG_NUMBER = /(?<![\d.])\d{16,}(?![\d.eE])/; // not the digits of a fraction, which most answers have
// A string as a whole, or a number outside of strings. Strings come first, so that digits in them stay as they are.
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** Read JSON. Throws a SyntaxError as `JSON.parse` does. */
export function parse(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  const mark = unusedMark(text);
  const marked = text.replace(TOKENS, (token) => (isLong(token) ? `"${mark}${token}"` : token));
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}

/** Write JSON. Throws a TypeError for what JSON cannot hold, NaN and infinity too. */
export function stringify(value: unknown): string {
  const bigints: bigint[] = [];
  const mark = `bigint-${Math.random().toString(36).slice(2)}-`;
  const text = JSON.stringify(value, (key, member: unknown) => {
    if (typeof member === "number" && !Number.isFinite(member)) {
      throw new TypeError(`${key || "value"}: expected a finite number, got ${member}`);
    }
    return typeof member === "bigint" ? `${mark}${bigints.push(member) - 1}` : member;
  });
  if (text === undefined) throw new TypeError(`expected a value that JSON can hold, got ${typeof value}`);
  return bigints.length ? text.replace(new RegExp(`"${mark}(\\d+)"`, "g"), (_all, i) => String(bigints[i])) : text;
}

function isLong(token: string): boolean {
  return !token.startsWith('"') && /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token));
}

function unusedMark(text: string): string {
  let mark = "bigint:";
  while (text.includes(mark)) mark = `bigint-${Math.random().toString(36).slice(2)}:`;
  return mark;
}
