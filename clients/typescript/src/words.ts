// Random words of a block: HMAC-SHA256 alone, over typed bytes. Equal law, content and key give equal words.

import type { Place } from "./blocks.js";
import { isText, join, text, u64, unhex } from "./bytes.js";
import { refuse } from "./errors.js";

/** What the client needs of cryptography, at once or later; `Key` never leaves it. */
export interface Primitives<Key> {
  /** A new key of 32 random bytes, as a store keeps it. */
  fresh(): Later<StoredKey>;
  /** The key that a store kept. */
  open(stored: unknown): Later<Key>;
  mac(key: Key, data: Uint8Array): Later<Uint8Array>;
  /** A key from the bytes of another key's mac. */
  derived(raw: Uint8Array): Later<Key>;
  hash(data: Uint8Array): Later<Uint8Array>;
}

type Later<T> = T | Promise<T>;

/** A key that cannot be exported, or its 64 hexadecimal digits where there is no WebCrypto. */
export type StoredKey = CryptoKey | string;

export const NO_KEY = "the store holds no key of this entry";
const MISSING = 2n ** 64n - 1n; // the place of a publicly missing value
const PER_DIGEST = 4;

/** A key as a store keeps it in text: 32 bytes that are not plainly constant. */
export function checkKeyText(stored: unknown): string {
  const digits = isText(stored) && /^[0-9a-f]{64}$/.test(stored) ? stored : "";
  // 32 random bytes have fewer than 12 distinct values with probability below 1e-18
  return new Set(unhex(digits)).size >= 12 ? digits : refuse("store", NO_KEY);
}

export const ownKeyBytes = (context: string, law: Uint8Array): Uint8Array => join(text("versadp device 4"), text(context), law);

export const placesBytes = (places: readonly Place[]): Uint8Array => join(u64(places.length), ...places.map((place) => u64(place ?? MISSING)));

/** The first `count` words of a block whose own key is given; a device's records have no id. */
export async function blockWords<Key>(make: Primitives<Key>, own: Key, places: readonly Place[], count: number): Promise<bigint[]> {
  const message = join(u64(0), placesBytes(places));
  const digests = Array.from({ length: Math.ceil(count / PER_DIGEST) }, (_, k) => make.mac(own, join(u64(k), message)));
  return (await Promise.all(digests))
    .flatMap((digest) => {
      const view = new DataView(digest.buffer, digest.byteOffset);
      return [0, 8, 16, 24].map((at) => view.getBigUint64(at, true));
    })
    .slice(0, count);
}
