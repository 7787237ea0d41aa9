/** Vectors as requests carry them: little-endian float32. */

import { CannotSend } from "./errors.js";

/** d numbers: an array, a Float32Array, or anything with a length and numbers at 0, 1, ... */
export type VectorLike = ArrayLike<number>;

const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
const CHUNK = 8192; // bytes that one call of String.fromCharCode takes

/** Rows of one length as bytes. Throws CannotSend if they are no vectors, or differ in length. */
export function packed(vectors: readonly VectorLike[], parameter: string): Uint8Array<ArrayBuffer> {
  const dim = vectors.length ? checked(vectors[0], parameter).length : 0;
  const numbers = new Float32Array(vectors.length * dim);
  vectors.forEach((vector, row) => {
    const { length } = checked(vector, parameter);
    if (length !== dim) {
      throw new CannotSend(`${parameter}: row 0 has ${dim} numbers, row ${row} has ${length}`);
    }
    numbers.set(vector, row * dim);
  });
  return littleEndian(numbers);
}

/** One vector in base64, for JSON. */
export function inBase64(vector: VectorLike, parameter: string): string {
  return asBase64(packed([vector], parameter));
}

/** Bytes in base64. */
export function asBase64(bytes: Uint8Array): string {
  let letters = "";
  for (let start = 0; start < bytes.length; start += CHUNK) {
    letters += String.fromCharCode(...bytes.subarray(start, start + CHUNK));
  }
  return btoa(letters);
}

/** A vector of an answer; undefined if the answer has none. */
export function unpacked(numbers: unknown): Float32Array | undefined {
  return Array.isArray(numbers) ? Float32Array.from(numbers as number[]) : undefined;
}

function checked(vector: unknown, parameter: string): VectorLike {
  const candidate = vector as VectorLike | null | undefined;
  if (typeof candidate !== "object" || candidate === null || typeof candidate.length !== "number") {
    throw new CannotSend(`${parameter}: expected an array of numbers, got ${typeof vector}`);
  }
  const wrong = Array.isArray(candidate) ? candidate.findIndex((number) => typeof number !== "number") : -1;
  if (wrong >= 0) {
    throw new CannotSend(`${parameter}: expected numbers, got ${typeof candidate[wrong]} at place ${wrong}`);
  }
  return candidate;
}

function littleEndian(numbers: Float32Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (LITTLE_ENDIAN) return new Uint8Array(numbers.buffer);
  const view = new DataView(new ArrayBuffer(numbers.byteLength));
  numbers.forEach((number, place) => view.setFloat32(4 * place, number, true));
  return new Uint8Array(view.buffer);
}
