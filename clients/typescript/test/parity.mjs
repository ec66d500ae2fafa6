// Devices whose key is given, for comparisons: in Node and in browsers, with nothing but the platform.

const HMAC = { name: "HMAC", hash: "SHA-256", length: 256 };
const bytes = (digits) => Uint8Array.from(digits.match(/../g), (pair) => parseInt(pair, 16));

/** The entry of a file in dist/, with how its store keeps a key. */
export async function entries(file) {
  const entry = await import(`../dist/${file}.js`);
  const stored = file === "plain" ? async (digits) => digits : (digits) => crypto.subtle.importKey("raw", bytes(digits), HMAC, false, ["sign"]);
  return { ...entry, name: file, stored };
}

async function nameOf(digits) {
  const key = await crypto.subtle.importKey("raw", bytes(digits), HMAC, false, ["sign"]);
  const text = new TextEncoder().encode("versadp key name");
  const data = new Uint8Array(8 + text.length);
  data[0] = text.length;
  data.set(text, 8);
  const name = new Uint8Array(await crypto.subtle.sign("HMAC", key, data)).slice(0, 16);
  return Array.from(name, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A client of a device that already holds the key given: a store with such an entry. An app has no such thing. */
export async function deviceWithKey(entry, mechanism, digits, options) {
  const store = entry.memoryStore();
  const kept = { version: 1, key: await entry.stored(digits), name: await nameOf(digits), most: options.most, spent: {}, rounds: {} };
  await store.update(() => kept);
  return entry.Versadp.open(mechanism, { clamped: () => {}, ...options, store });
}
