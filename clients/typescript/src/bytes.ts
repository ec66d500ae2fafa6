// Typed bytes, on which words, fingerprints and ids depend: docs/format.md, "Words on a device".

const UTF8 = new TextEncoder();

export function join(...parts: Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function eight(write: (view: DataView) => void): Uint8Array {
  const out = new Uint8Array(8);
  write(new DataView(out.buffer));
  return out;
}

/** A whole number as 8 bytes, little-endian; a negative one as its two's complement. */
export const u64 = (value: number | bigint): Uint8Array => eight((view) => view.setBigInt64(0, BigInt(value), true));

/** A number as 8 bytes, IEEE 754 double, little-endian. */
export const f64 = (value: number): Uint8Array => eight((view) => view.setFloat64(0, value, true));

/** A text as its length in bytes and its UTF-8 bytes. */
export function text(value: string): Uint8Array {
  const data = UTF8.encode(value);
  return join(u64(data.length), data);
}

export const hex = (data: Uint8Array): string => Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");

export const unhex = (digits: string): Uint8Array => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** True if a value is text, and whole Unicode: no half characters. */
export const isText = (value: unknown): value is string => typeof value === "string" && !/\p{Cs}/u.test(value);

/** True if a value is text in form NFC: two texts that look alike are the same bytes. */
export const isNormal = (value: unknown): value is string => isText(value) && value.normalize("NFC") === value;
