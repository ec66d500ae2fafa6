// What a client makes impossible, each with its test, by WebCrypto and without it.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { deviceWithKey, entries } from "./devices.mjs";

const vectors = JSON.parse(readFileSync(new URL("../../../src/versadp/devices/vectors-4.json", import.meta.url), "utf8"));
const mechanismOf = (name) => vectors.laws.find((each) => each.name === name).mechanism;
const EACH = mechanismOf("numbers each");
const JOINT = mechanismOf("delta");
const RECORD = { age: 41, income: 31234.5 };
const refuses = (made, reason, says = /./) =>
  assert.rejects(made, (error) => error.name === "VersadpError" && error.reason === reason && says.test(error.message));

/** EACH with a public column more: an app update that is not about age and income. */
function withPublicColumn() {
  const data = JSON.parse(EACH);
  data.schema.columns.unshift({ name: "y", type: "public" });
  return JSON.stringify(data);
}

for (const entry of entries) {
  const { Versadp, memoryStore } = entry;
  const name = (what) => `${what} (${entry.name})`;
  const open = (options = {}, mechanism = EACH) => Versadp.open(mechanism, { store: memoryStore(), most: 3, clamped: () => {}, ...options });

  test(name("a report is what goes on the wire, and frozen"), async () => {
    const client = await open();
    const report = await client.report(RECORD, { round: "2026-11" });
    assert.deepEqual(Object.keys(report), ["format", "version", "mechanism", "round", "id", "values"]);
    assert.deepEqual([report.format, report.version, report.round], ["versadp report", 1, "2026-11"]);
    assert.equal(report.mechanism, client.fingerprint);
    assert.match(report.id, /^[0-9a-f]{64}$/);
    assert.ok(Object.values(report.values).every(Number.isInteger));
    assert.ok(Object.isFrozen(report) && Object.isFrozen(report.values) && Object.isFrozen(client));
    assert.throws(() => (report.values.age = 41), TypeError);
  });

  test(name("no key, seed or randomness can be passed"), async () => {
    for (const more of [{ key: new Uint8Array(32) }, { seed: 1 }, { random: Math.random }, { rng: null }]) {
      await refuses(open(more), "options", /keys are the device's own/);
      const client = await open();
      await refuses(client.report(RECORD, { round: "a", ...more }), "options");
    }
    assert.deepEqual(Object.keys(entry.Versadp), ["open"]);
    assert.ok(Object.isFrozen(entry.Versadp));
    assert.deepEqual(Object.keys(await open()).sort(), ["fingerprint", "most", "report", "statement"]);
  });

  test(name("two devices have different keys"), async () => {
    const made = await Promise.all(Array.from({ length: 8 }, async () => (await (await open()).report(RECORD, { round: "a" })).id));
    assert.equal(new Set(made).size, 8);
  });

  test(name("a round is answered once, whatever the record says later"), async () => {
    const store = memoryStore();
    const client = await open({ store });
    const first = await client.report(RECORD, { round: "a" });
    assert.deepEqual(await client.report({ age: 80, income: 1 }, { round: "a" }), first);
    const again = await open({ store }); // another start of the app
    assert.deepEqual(await again.report({ age: 20, income: 2 }, { round: "a" }), first);
  });

  test(name("two calls at the same time get one answer"), async () => {
    const store = memoryStore();
    const clients = await Promise.all([open({ store }), open({ store })]);
    const made = await Promise.all([20, 30, 40, 50, 60].map((age, k) => clients[k % 2].report({ ...RECORD, age }, { round: "a" })));
    assert.equal(new Set(made.map((report) => JSON.stringify(report))).size, 1);
  });

  test(name("a report that was written and not returned is the round's report"), async () => {
    // killed between store and send: what was written is there, and the caller never saw it
    const inner = memoryStore();
    let dies = false;
    const store = { update: async (change) => { const kept = await inner.update(change); if (dies) throw new Error("killed"); return kept; } };
    const client = await open({ store });
    dies = true;
    await assert.rejects(client.report(RECORD, { round: "a" }), /killed/);
    dies = false;
    let written;
    await inner.update((kept) => { written = JSON.parse(Object.values(kept.rounds)[0]); return kept; });
    const later = await open({ store });
    assert.deepEqual(await later.report({ age: 80, income: 9 }, { round: "a" }), written);
  });

  test(name("nothing is returned that is not written"), async () => {
    const inner = memoryStore();
    let full = false;
    const store = { update: (change) => (full ? Promise.reject(new Error("disk full")) : inner.update(change)) };
    const client = await open({ store });
    full = true;
    await assert.rejects(client.report(RECORD, { round: "a" }), /disk full/);
  });

  test(name("no more than `most` different reports of a column, and equal ones cost nothing"), async () => {
    const client = await open({ most: 2 });
    const one = await client.report(RECORD, { round: "a" });
    const two = await client.report({ ...RECORD, income: 5000 }, { round: "b" });
    assert.equal(two.values.age, one.values.age);
    assert.notEqual(two.id, one.id);
    await refuses(client.report({ ...RECORD, income: 6000 }, { round: "c" }), "spent", /"income" was in 2/);
    const back = await client.report(RECORD, { round: "c" }); // an earlier value costs nothing
    assert.deepEqual(back.values, one.values);
    assert.deepEqual((await client.report({ age: 42, income: 5000 }, { round: "d" })).values.income, two.values.income);
    await refuses(client.report({ age: 43, income: 5000 }, { round: "e" }), "spent", /"age"/);
  });

  test(name("columns of one block are spent together"), async () => {
    const client = await open({ most: 1 }, JOINT);
    await client.report(RECORD, { round: "a" });
    await refuses(client.report({ ...RECORD, income: 5000 }, { round: "b" }), "spent", /"age"/);
  });

  test(name("a refused report spends nothing and answers no round"), async () => {
    const client = await open({ most: 1 });
    await client.report(RECORD, { round: "a" });
    await refuses(client.report({ age: 42, income: 5000 }, { round: "b" }), "spent");
    assert.ok(await client.report(RECORD, { round: "b" }));
  });

  test(name("`most` cannot be raised, and is lowered for good"), async () => {
    const store = memoryStore();
    await open({ store, most: 3 });
    await refuses(open({ store, most: 4 }), "options", /cannot be raised/);
    assert.equal((await open({ store, most: 2 })).most, 2);
    await refuses(open({ store, most: 3 }), "options", /cannot be raised/);
    for (const most of [0, -1, 1.5, NaN, Infinity, "3", undefined, null]) await refuses(open({ most }), "options");
  });

  test(name("an update elsewhere leaves answers as they are, and one's own law is counted"), async () => {
    const store = memoryStore();
    const one = await (await open({ store, most: 1 })).report(RECORD, { round: "a" });
    const update = await open({ store, most: 1 }, withPublicColumn());
    const two = await update.report({ ...RECORD, y: 1 }, { round: "b" });
    assert.equal(two.values.age, one.values.age);
    assert.equal(two.values.income, one.values.income);
    const changed = await open({ store, most: 1 }, mechanismOf("one number")); // another epsilon of age
    await refuses(changed.report({ age: RECORD.age }, { round: "c" }), "spent", /"age"/);
  });

  test(name("contexts have noise and rounds of their own"), async () => {
    const store = memoryStore();
    const made = [];
    for (const context of ["clinic", "bank", ""]) {
      const client = await open({ store, context });
      made.push(await client.report(RECORD, { round: "a" }));
    }
    assert.equal(new Set(made.map((report) => report.id)).size, 3);
    assert.equal(new Set(made.map((report) => report.mechanism)).size, 3);
    assert.ok(new Set(made.map((report) => JSON.stringify(report.values))).size > 1);
    const fourth = await open({ store, context: "fourth" });
    await refuses(fourth.report(RECORD, { round: "a" }), "spent"); // each context is a further report
  });

  test(name("a round that another mechanism answered is refused, not answered again"), async () => {
    const store = memoryStore();
    await (await open({ store })).report(RECORD, { round: "a" });
    const update = await open({ store }, withPublicColumn());
    await refuses(update.report({ ...RECORD, y: 1 }, { round: "a" }), "round", /another mechanism/);
  });

  test(name("an app can pin the mechanism"), async () => {
    const { fingerprint } = await open();
    assert.equal((await open({ fingerprint })).fingerprint, fingerprint);
    await refuses(open({ fingerprint }, withPublicColumn()), "mechanism", /another fingerprint/);
  });

  test(name("values of another kind are refused"), async () => {
    const client = await open();
    const bad = [new Date(), "41", true, null, undefined, NaN, Infinity, -Infinity, 41n, Object(41), [41], { valueOf: () => 41 }, Symbol("41"), () => 41];
    for (const age of bad) await refuses(client.report({ ...RECORD, age }, { round: "a" }), "record", /"age"/);
    for (const record of [{ age: 41 }, { ...RECORD, x: 1 }, null, undefined, 41, "41", []]) {
      await refuses(client.report(record, { round: "a" }), "record");
    }
    for (const round of ["", "a b", "r".repeat(65), 11, null, undefined, "a\n", "-a"]) {
      await refuses(client.report(RECORD, { round }), "round");
    }
    const dates = await open({}, mechanismOf("dates"));
    const day = { born: "1980-02-29", seen: "2021-01-31" };
    assert.ok(await dates.report(day, { round: "a" }));
    for (const born of [new Date(), new Date("1980-02-29"), 3711, "1980-02-30", "1980-02-29T00:00:00Z", null]) {
      await refuses(dates.report({ ...day, born }, { round: "b" }), "record", /"born"/);
    }
  });

  test(name("unknown versions and fields are refused"), async () => {
    for (const version of [1, 2, 3, 5]) await refuses(open({}, EACH.replace('"version": 4', `"version": ${version}`)), "mechanism", /version/);
    await refuses(open({}, EACH.replace('"delta": 0', '"delta": 0, "more": 1')), "mechanism", /unknown field/);
    for (const text of [undefined, null, 3, JSON.parse(EACH), "", "{}", "[]", "null", '"', '"\\1', "[1", "01", `${EACH}x`]) {
      await refuses(Versadp.open(text, { store: memoryStore(), most: 1 }), "mechanism");
    }
    assert.deepEqual(entry.versions, [4]);
  });

  test(name("zero-inflated noise is refused, with the reason"), async () => {
    const case_ = vectors.refusals.find((each) => each.what === "zero-inflated noise");
    const good = vectors.refusals[0].mechanism;
    await refuses(open({}, good.slice(0, case_.start) + case_.text + good.slice(case_.stop)), "mechanism", /exact rate, which is delta/);
  });

  test(name("true values are neither in the store nor in errors"), async () => {
    const store = memoryStore();
    const client = await open({ store, most: 1 });
    await client.report({ age: 41, income: 31234.5678 }, { round: "a" });
    let kept;
    await store.update((old) => (kept = old));
    const { key, ...rest } = kept;
    assert.ok(!/31234|5678/.test(JSON.stringify(rest)));
    assert.deepEqual(Object.keys(rest).sort(), ["most", "name", "rounds", "spent", "version"]);
    if (key instanceof CryptoKey) {
      assert.equal(key.extractable, false);
      await assert.rejects(crypto.subtle.exportKey("raw", key));
    }
    for (const record of [{ age: 41, income: 98765.4321 }, { age: "98765.4321", income: 1 }, { age: 9.87654321e200, income: 1 }]) {
      await assert.rejects(client.report(record, { round: "b" }), (error) => !/98765|87654/.test(error.message + error.stack.split("\n")[0]));
    }
  });

  test(name("marks of what was given away tell nothing without the key"), async () => {
    const marks = async () => {
      const store = memoryStore();
      await (await open({ store })).report(RECORD, { round: "a" });
      let kept;
      await store.update((old) => (kept = old));
      return JSON.stringify(kept.spent);
    };
    assert.notEqual(await marks(), await marks());
  });

  test(name("a store that was emptied meanwhile gives no report"), async () => {
    let inner = memoryStore();
    const store = { update: (change) => inner.update(change) };
    const client = await open({ store });
    inner = memoryStore();
    await refuses(client.report(RECORD, { round: "a" }), "store", /emptied/);
    await open({ store }); // a new key
    await refuses(client.report(RECORD, { round: "a" }), "store", /emptied/);
  });

  test(name("stores of newer clients and foreign keys are refused"), async () => {
    const store = memoryStore();
    await open({ store });
    await store.update((kept) => ({ ...kept, version: 2 }));
    await refuses(open({ store }), "store", /newer client/);
    await store.update((kept) => ({ ...kept, version: 1, name: "0".repeat(32) }));
    await refuses(open({ store }), "store", /another key/);
    await store.update((kept) => ({ ...kept, key: "00".repeat(32) }));
    await refuses(open({ store }), "store", /no key/);
    for (const bad of [undefined, null, {}, { update: 1 }]) await assert.rejects(open({ store: bad }));
  });

  test(name("clamping is told to the caller, and not to the collector"), async () => {
    const told = [];
    const client = await open({ clamped: (columns) => told.push(columns) });
    const report = await client.report({ age: 17, income: 500001 }, { round: "a" });
    assert.deepEqual(told, [["age", "income"]]);
    assert.deepEqual(Object.keys(report), ["format", "version", "mechanism", "round", "id", "values"]);
    await client.report({ age: 18, income: 500000 }, { round: "b" });
    assert.equal(told.length, 1);
    const { warn } = console;
    const said = [];
    console.warn = (line) => said.push(line);
    try {
      const silent = await Versadp.open(EACH, { store: memoryStore(), most: 1 });
      await silent.report({ age: 17, income: 1 }, { round: "a" });
    } finally {
      console.warn = warn;
    }
    assert.equal(said.length, 1);
    assert.match(said[0], /nearest bound: age$/);
  });

  test(name("an omitted column is never read"), async () => {
    const each = vectors.laws.find((one) => one.name === "odd names, an omitted column");
    const client = await open({}, each.mechanism);
    const record = { "0": "toString", größe: 180, y: 1, z: "text", note: null };
    Object.defineProperty(record, "__proto__", { value: 0.5, enumerable: true });
    const report = await client.report(record, { round: "a" });
    assert.deepEqual(Object.keys(report.values).sort(), ["0", "__proto__", "größe", "y", "z"]);
    assert.equal(report.values.z, "text");
  });

  test(name("a device's own key decides its noise"), async () => {
    const [key, other] = [vectors.ids[0].key, vectors.ids[1].key];
    const values = async (digits) => (await (await deviceWithKey(entry, EACH, digits, { most: 3 })).report(RECORD, { round: "a" })).values;
    assert.deepEqual(await values(key), await values(key));
    assert.notDeepEqual(await values(key), await values(other));
  });

  test(name("the statement says what is given away, and rounds to the safe side"), async () => {
    const client = await open({ most: 12 });
    const said = client.statement();
    assert.match(said, /age \(give or take 17\): true with probability [0-9.]+%/);
    assert.match(said, /factor of 2\.72 \(epsilon 1\)/);
    assert.match(said, /together: epsilon 1\.7\./);
    assert.match(said, /at most 12 different per column: epsilon 20\.[45]/);
    assert.match(said, /second device/);
    const other = await open({ most: 1 }, mechanismOf("categories"));
    assert.match(other.statement(), /y: sent as it is, protected by nothing/);
    assert.match((await open({}, mechanismOf("old dates, publicly missing"))).statement(), /that it is missing is sent as it is/);
    assert.match((await open({}, JOINT)).statement(), /but for a probability of 0\.001\)[^]*delta 0\.001/);
  });
}

test("the entry with WebCrypto refuses to work without it, and the other says what it needs", () => {
  const run = (code) => {
    const done = spawnSync(process.execPath, ["--input-type=module", "-e", code], { cwd: new URL(".", import.meta.url).pathname, encoding: "utf8" });
    return done.stdout.trim() || done.stderr;
  };
  const mechanism = JSON.stringify(EACH);
  const use = (file) => `const { Versadp, memoryStore } = await import("../dist/${file}.js");
    try { const c = await Versadp.open(${mechanism}, { store: memoryStore(), most: 1 });
    console.log(JSON.stringify(await c.report(${JSON.stringify(RECORD)}, { round: "a" }))); } catch (error) { console.log(error.message); }`;
  const without = (what) => `Object.defineProperty(globalThis, "crypto", { value: ${what} });\n`;
  assert.match(run(without("{ getRandomValues: crypto.getRandomValues.bind(crypto) }") + use("index")), /@versadp\/device\/plain/);
  assert.match(run(without("{ getRandomValues: crypto.getRandomValues.bind(crypto) }") + use("plain")), /versadp report/);
  assert.match(run(without("undefined") + use("plain")), /getRandomValues/);
});

test("no ordinary generator is used", () => {
  for (const file of ["index", "plain"]) {
    const source = readFileSync(new URL(`../dist/${file}.js`, import.meta.url), "utf8");
    assert.ok(!source.includes("Math.random") && !/Date\.now|performance\./.test(source));
  }
});
