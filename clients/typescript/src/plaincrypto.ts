// SHA-256 and HMAC (FIPS 180-4, RFC 2104) for places without WebCrypto. The key is text in the store there.

import { hex, join, unhex } from "./bytes.js";
import { refuse } from "./errors.js";
import { checkKeyText, type Primitives } from "./words.js";

/** The constants of SHA-256: 32 bits of the fractions of roots of the first primes, which doubles have to spare. */
function makeTables(): [Uint32Array, Uint32Array] {
  const primes: number[] = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
  const [constants, start] = [1 / 3, 1 / 2].map((power) => Uint32Array.from(primes, (prime) => (prime ** power % 1) * 2 ** 32));
  return [constants!, start!.slice(0, 8)];
}

let tables: [Uint32Array, Uint32Array] | undefined;
const rotate = (x: number, by: number): number => (x >>> by) | (x << (32 - by));

export function sha256(data: Uint8Array): Uint8Array {
  tables ??= makeTables();
  const [constants, state] = [tables[0], tables[1].slice()];
  const padded = new Uint8Array(((data.length + 72) >> 6) << 6);
  padded.set(data);
  padded[data.length] = 128;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(data.length) * 8n);
  const w = new Uint32Array(64);
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getUint32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const [x, y] = [w[i - 15]!, w[i - 2]!];
      const [s0, s1] = [rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3), rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10)];
      w[i] = w[i - 16]! + s0 + w[i - 7]! + s1;
    }
    let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
    for (let i = 0; i < 64; i++) {
      const one = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + constants[i]! + w[i]!) | 0;
      const two = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((x, i) => (state[i]! += x));
  }
  const out = new DataView(new ArrayBuffer(32));
  state.forEach((x, i) => out.setUint32(4 * i, x));
  return new Uint8Array(out.buffer);
}

export function hmac(key: Uint8Array, data: Uint8Array): Uint8Array {
  const padded = new Uint8Array(64);
  padded.set(key.length > 64 ? sha256(key) : key);
  const with_ = (mask: number): Uint8Array => padded.map((byte) => byte ^ mask);
  return sha256(join(with_(0x5c), sha256(join(with_(0x36), data))));
}

export const plain: Primitives<Uint8Array> = {
  fresh: async () => {
    if (!globalThis.crypto?.getRandomValues) refuse("options", "there is no crypto.getRandomValues here: install one");
    return hex(globalThis.crypto.getRandomValues(new Uint8Array(32)));
  },
  open: async (stored) => unhex(checkKeyText(stored)),
  mac: async (key, data) => hmac(key, data),
  derived: async (raw) => raw,
  hash: async (data) => sha256(data),
};
