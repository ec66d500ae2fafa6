// The layers of the vectors: what the client makes of each case, and what it should. In Node and in browsers.

import { addNoise, isOutside, placeOf } from "../build/blocks.js";
import { hex, join, text, unhex } from "../build/bytes.js";
import { readValue } from "../build/columns.js";
import { fingerprintBytes, readMechanism } from "../build/mechanism.js";
import { plain, sha256 } from "../build/plaincrypto.js";
import { windowThreshold } from "../build/threshold.js";
import { web } from "../build/webcrypto.js";
import { blockWords, ownKeyBytes } from "../build/words.js";
import { deviceWithKey, entries } from "./parity.mjs";

const REASONS = { mechanism: "mechanism", record: "record", round: "round", context: "options" };
const asText = (value) => (value === null ? null : String(value));

function* laws(vectors) {
  for (const each of vectors.laws) {
    const mechanism = readMechanism(each.mechanism);
    yield [each.name, mechanism.blocks.map((block) => hex(block.law)), each.laws];
    for (const [context, name] of Object.entries(each.fingerprints)) yield [each.name, hex(sha256(fingerprintBytes(mechanism, context))), name];
  }
}

function* thresholds(vectors) {
  for (const each of vectors.thresholds) {
    yield [JSON.stringify(each), String(windowThreshold(each.window, each.outputs, each.epsilon, each.delta)), each.threshold];
  }
}

async function* words(vectors, make) {
  for (const each of vectors.words) {
    const raw = await make.mac(await make.derived(unhex(each.key)), ownKeyBytes(each.context, unhex(each.law)));
    yield ["key of the block", hex(raw), each.own];
    const places = each.places.map((place) => (place === null ? null : Number(place)));
    const found = await blockWords(make, await make.derived(raw), places, each.count);
    yield ["words", hex(new Uint8Array(new BigUint64Array(found).buffer)), each.words]; // little-endian here
  }
}

async function* ids(vectors, make) {
  for (const each of vectors.ids) {
    const key = await make.derived(unhex(each.key));
    yield [each.round, hex(await make.mac(key, join(text("versadp report"), text(each.mechanism), text(each.round)))), each.id];
  }
}

function* outputs(vectors) {
  const mechanisms = vectors.laws.map((each) => readMechanism(each.mechanism));
  for (const each of vectors.outputs) {
    const block = mechanisms[each.mechanism].blocks[each.block];
    yield [JSON.stringify(each), addNoise(block, each.places.map(Number), each.words.map(BigInt)).map(String), each.outputs];
  }
}

function* contents(vectors) {
  for (const each of vectors.contents) {
    const part = readMechanism(each.mechanism).blocks[0].parts[0];
    for (const [value, place, clamped] of each.values) {
      const read = readValue(value, part.column);
      yield [`${each.name}: ${value}`, [asText(placeOf(read, part)), isOutside(read, part.column)], [place, clamped]];
    }
  }
}

async function* records(vectors, entry) {
  for (const each of vectors.records) {
    const told = [];
    const options = { most: 9, context: each.context, clamped: (columns) => told.push(...columns) };
    const client = await deviceWithKey(entry, vectors.laws[each.mechanism].mechanism, each.key, options);
    const report = await client.report(each.record, { round: each.report.round });
    yield [JSON.stringify(each.record), JSON.stringify([report, told.sort()]), JSON.stringify([each.report, [...each.clamped].sort()])];
  }
}

async function* refusals(vectors, entry) {
  const [good, ...cases] = vectors.refusals;
  const said = async (given) => {
    const { mechanism, record, round, context } = { ...good, round: "r", context: "", ...given };
    try {
      await (await deviceWithKey(entry, mechanism, vectors.ids[0].key, { most: 3, context })).report(record, { round });
      return "accepted";
    } catch (error) {
      return error.name === "VersadpError" ? error.reason : String(error);
    }
  };
  yield ["the mechanism that cases change", await said({}), "accepted"];
  for (const each of cases) {
    const changed = each.kind === "mechanism" && good.mechanism.slice(0, each.start) + each.text + good.mechanism.slice(each.stop);
    yield [`${each.kind}: ${each.what}`, await said({ [each.kind]: changed || each[each.kind] }), REASONS[each.kind]];
  }
}

/** The layers by name: functions of the vectors that yield [case, found, wanted]. */
export async function layers() {
  const [index, other] = await Promise.all(["index", "plain"].map(entries));
  return {
    "laws and fingerprints": laws,
    "thresholds of 200 windows": thresholds,
    "words by WebCrypto": (vectors) => words(vectors, web),
    "words by plain": (vectors) => words(vectors, plain),
    "ids by WebCrypto": (vectors) => ids(vectors, web),
    "ids by plain": (vectors) => ids(vectors, plain),
    "outputs for given words": outputs,
    "places of values": contents,
    "whole records by index": (vectors) => records(vectors, index),
    "whole records by plain": (vectors) => records(vectors, other),
    "refusals by index": (vectors) => refusals(vectors, index),
    "refusals by plain": (vectors) => refusals(vectors, other),
  };
}
