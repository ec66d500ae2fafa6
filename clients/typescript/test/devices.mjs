// Devices whose key a test knows: a store that already holds an entry. An app has no such thing.

import { createHmac } from "node:crypto";
import * as withWebCrypto from "../dist/index.js";
import * as withoutWebCrypto from "../dist/plain.js";

const HMAC = { name: "HMAC", hash: "SHA-256", length: 256 };
const bytes = (digits) => Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16));

export const entries = [
  { name: "WebCrypto", ...withWebCrypto, stored: (digits) => crypto.subtle.importKey("raw", bytes(digits), HMAC, false, ["sign"]) },
  { name: "plain", ...withoutWebCrypto, stored: async (digits) => digits },
];

const text = (value) => {
  const data = Buffer.from(value);
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(data.length));
  return Buffer.concat([size, data]);
};

/** A store in memory with a key that is given. */
export async function storeWithKey(entry, digits, most) {
  const name = createHmac("sha256", bytes(digits)).update(text("versadp key name")).digest("hex").slice(0, 32);
  const kept = { version: 1, key: await entry.stored(digits), name, most, spent: {}, rounds: {} };
  const store = entry.memoryStore();
  await store.update(() => kept);
  return store;
}

export async function deviceWithKey(entry, mechanism, digits, options) {
  const store = await storeWithKey(entry, digits, options.most);
  return entry.Versadp.open(mechanism, { store, clamped: () => {}, ...options });
}
