// The vectors that Python made, layer by layer, so that a failure says where it is.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { addNoise, isOutside, placeOf } from "../build/blocks.js";
import { hex, join, text, unhex } from "../build/bytes.js";
import { readValue } from "../build/columns.js";
import { checkContext, fingerprintBytes, readMechanism } from "../build/mechanism.js";
import { hmac, plain, sha256 } from "../build/plaincrypto.js";
import { windowThreshold } from "../build/threshold.js";
import { web } from "../build/webcrypto.js";
import { blockWords, ownKeyBytes } from "../build/words.js";
import { deviceWithKey, entries } from "./devices.mjs";

const vectors = JSON.parse(readFileSync(new URL("../../../src/versadp/devices/vectors-4.json", import.meta.url), "utf8"));
const mechanisms = vectors.laws.map((each) => readMechanism(each.mechanism));
const imported = (digits) => web.derived(unhex(digits));

test("SHA-256 and HMAC have their published answers", () => {
  assert.equal(hex(sha256(new Uint8Array(0))), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert.equal(hex(sha256(new TextEncoder().encode("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const [key, data] = ["Jefe", "what do ya want for nothing?"].map((text) => new TextEncoder().encode(text)); // RFC 4231, case 2
  assert.equal(hex(hmac(key, data)), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
});

test("laws and fingerprints", () => {
  for (const [number, each] of vectors.laws.entries()) {
    assert.deepEqual(mechanisms[number].blocks.map((block) => hex(block.law)), each.laws, each.name);
    for (const [context, name] of Object.entries(each.fingerprints)) {
      assert.equal(hex(sha256(fingerprintBytes(mechanisms[number], context))), name, each.name);
    }
  }
});

test("thresholds of 200 windows", () => {
  assert.equal(vectors.thresholds.length, 200);
  for (const each of vectors.thresholds) {
    assert.equal(String(windowThreshold(each.window, each.outputs, each.epsilon, each.delta)), each.threshold);
  }
});

for (const [name, make, keyOf] of [["WebCrypto", web, imported], ["plain", plain, async (digits) => unhex(digits)]]) {
  test(`words by ${name}`, async () => {
    for (const each of vectors.words) {
      const raw = await make.mac(await keyOf(each.key), ownKeyBytes(each.context, unhex(each.law)));
      assert.equal(hex(raw), each.own);
      const places = each.places.map((place) => (place === null ? null : Number(place)));
      const words = await blockWords(make, await make.derived(raw), places, each.count);
      const bytes = new Uint8Array(new BigUint64Array(words).buffer); // little-endian here
      assert.equal(hex(bytes), each.words);
    }
  });

  test(`ids by ${name}`, async () => {
    for (const each of vectors.ids) {
      const id = await make.mac(await keyOf(each.key), join(text("versadp report"), text(each.mechanism), text(each.round)));
      assert.equal(hex(id), each.id);
    }
  });
}

test("outputs for given words", () => {
  for (const each of vectors.outputs) {
    const block = mechanisms[each.mechanism].blocks[each.block];
    assert.deepEqual(addNoise(block, each.places.map(Number), each.words.map(BigInt)).map(String), each.outputs);
  }
});

test("places of values", () => {
  for (const each of vectors.contents) {
    const part = readMechanism(each.mechanism).blocks[0].parts[0];
    for (const [value, place, clamped] of each.values) {
      const read = readValue(value, part.column);
      const found = placeOf(read, part);
      assert.equal(found === null ? null : String(found), place, `${each.name}: ${value}`);
      assert.equal(isOutside(read, part.column), clamped, `${each.name}: ${value}`);
    }
  }
});

for (const entry of entries) {
  test(`whole records by ${entry.name}`, async () => {
    for (const each of vectors.records) {
      const told = [];
      const options = { most: 9, context: each.context, clamped: (columns) => told.push(...columns) };
      const client = await deviceWithKey(entry, vectors.laws[each.mechanism].mechanism, each.key, options);
      const report = await client.report(each.record, { round: each.report.round });
      assert.equal(JSON.stringify(report), JSON.stringify(JSON.parse(JSON.stringify(each.report))));
      assert.deepEqual(told.sort(), [...each.clamped].sort());
    }
  });

  test(`refusals by ${entry.name}`, async () => {
    const [good, ...cases] = vectors.refusals;
    const key = vectors.ids[0].key;
    const use = async (mechanism, record, round, context) =>
      (await deviceWithKey(entry, mechanism, key, { most: 3, context })).report(record, { round });
    await use(good.mechanism, good.record, "r", "");
    assert.ok(cases.length >= 60);
    for (const each of cases) {
      const given = { mechanism: good.mechanism, record: good.record, round: "r", context: "" };
      if (each.kind === "mechanism") given.mechanism = good.mechanism.slice(0, each.start) + each.text + good.mechanism.slice(each.stop);
      else given[each.kind] = each[each.kind];
      const made = use(given.mechanism, given.record, given.round, given.context);
      const reason = { mechanism: "mechanism", record: "record", round: "round", context: "options" }[each.kind];
      await assert.rejects(made, { name: "VersadpError", reason }, `${each.kind}: ${each.what}`);
    }
  });
}

test("a context is text in form NFC", () => {
  assert.equal(checkContext("日本"), "日本");
  assert.throws(() => checkContext("e\u0301"), { reason: "options" });
});
