// SHA-256 and HMAC (FIPS 180-4, RFC 2104) for places without WebCrypto. The key is text in the store there.

import { hex, join, unhex } from "./bytes.js";
import { refuse } from "./errors.js";
import { checkKeyText, type Primitives } from "./words.js";

const primes: number[] = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);

/** The constants of SHA-256: 32 bits of the fractions of roots of the first primes, which doubles have to spare. */
const fractions = (power: number): Uint32Array => Uint32Array.from(primes, (prime) => (prime ** power % 1) * 2 ** 32);
const constants = fractions(1 / 3);
const start = fractions(1 / 2).slice(0, 8);

const rotated = (x: number, by: number): number => (x >>> by) | (x << (32 - by));
const turned = (x: number, by: number, other: number): number => rotated(x, by) ^ rotated(x, other);

export function sha256(data: Uint8Array): Uint8Array {
  const padded = new Uint8Array(((data.length + 72) >> 6) << 6);
  padded.set(data);
  padded[data.length] = 128;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 4, data.length * 8);
  const state = start.slice();
  for (let at = 0; at < padded.length; at += 64) {
    const w = constants.map((_, i) => (i < 16 ? view.getUint32(at + 4 * i) : 0));
    let turn = [...state] as [number, number, number, number, number, number, number, number];
    constants.forEach((constant, i) => {
      if (i > 15) {
        const [x, y] = [w[i - 15]!, w[i - 2]!];
        w[i] = w[i - 16]! + w[i - 7]! + (turned(x, 7, 18) ^ (x >>> 3)) + (turned(y, 17, 19) ^ (y >>> 10));
      }
      const [a, b, c, d, e, f, g, h] = turn;
      const one = h + (turned(e, 6, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + constant + w[i]!;
      const two = (turned(a, 2, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      turn = [(one + two) | 0, a, b, c, (d + one) | 0, e, f, g];
    });
    turn.forEach((x, i) => (state[i]! += x));
  }
  state.forEach((x, i) => view.setUint32(4 * i, x));
  return padded.slice(0, 32);
}

/** HMAC of a key of at most 64 bytes: all keys here have 32. */
export function hmac(key: Uint8Array, data: Uint8Array): Uint8Array {
  const padded = new Uint8Array(64);
  padded.set(key);
  const masked = (mask: number, rest: Uint8Array): Uint8Array => sha256(join(padded.map((byte) => byte ^ mask), rest));
  return masked(0x5c, masked(0x36, data));
}

export const plain: Primitives<Uint8Array> = {
  fresh: () => hex(globalThis.crypto?.getRandomValues(new Uint8Array(32)) ?? refuse("options", "crypto.getRandomValues is missing")),
  open: (stored) => unhex(checkKeyText(stored)),
  mac: hmac,
  derived: (raw) => raw,
  hash: sha256,
};
