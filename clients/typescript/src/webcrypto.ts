// Cryptography by WebCrypto: the device's key cannot be exported, not even by this page.

import { refuse } from "./errors.js";
import { NO_KEY, type Primitives } from "./words.js";

const HMAC = { name: "HMAC", hash: "SHA-256", length: 256 };

function subtle(): SubtleCrypto {
  const found = globalThis.crypto?.subtle;
  return found ?? refuse("options", 'there is no WebCrypto here: import "@versadp/device/plain"');
}

const imported = (raw: Uint8Array): Promise<CryptoKey> => subtle().importKey("raw", raw as BufferSource, HMAC, false, ["sign"]);

export const web: Primitives<CryptoKey> = {
  fresh: () => subtle().generateKey(HMAC, false, ["sign"]),
  open: async (stored) => (stored instanceof CryptoKey ? stored : refuse("store", NO_KEY)),
  mac: async (key, data) => new Uint8Array(await subtle().sign("HMAC", key, data as BufferSource)),
  derived: imported,
  hash: async (data) => new Uint8Array(await subtle().digest("SHA-256", data as BufferSource)),
};
