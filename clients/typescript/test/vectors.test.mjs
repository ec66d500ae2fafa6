// The vectors that Python made, layer by layer, so that a failure says where it is.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { hex } from "../build/bytes.js";
import { checkContext } from "../build/mechanism.js";
import { hmac, sha256 } from "../build/plaincrypto.js";
import { layers } from "./layers.mjs";

const vectors = JSON.parse(readFileSync(new URL("../../../src/versadp/devices/vectors-4.json", import.meta.url), "utf8"));
const FEWEST = { "thresholds of 200 windows": 200, "refusals by index": 61, "refusals by plain": 61 };

test("SHA-256 and HMAC have their published answers", () => {
  assert.equal(hex(sha256(new Uint8Array(0))), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert.equal(hex(sha256(new TextEncoder().encode("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const [key, data] = ["Jefe", "what do ya want for nothing?"].map((text) => new TextEncoder().encode(text)); // RFC 4231, case 2
  assert.equal(hex(hmac(key, data)), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
});

for (const [name, cases] of Object.entries(await layers())) {
  test(name, async () => {
    let count = 0;
    for await (const [what, found, wanted] of cases(vectors)) {
      assert.deepEqual(found, wanted, what);
      count++;
    }
    assert.ok(count >= (FEWEST[name] ?? 1), `${count} cases`);
  });
}

test("a context is text in form NFC", () => {
  assert.equal(checkContext("日本"), "日本");
  assert.throws(() => checkContext("e\u0301"), { reason: "options" });
});
