// Reports of a crowd: `node crowd.mjs SEED < JSON` reads {mechanism, records: {column: values}} and writes {column: outputs}.
//
// Each person is a device with a key of its own, which follows from the seed. The client's own modules make the words and
// outputs; HMAC is Node's, which is fast.

import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { addNoise, placeOf, wordCount } from "../build/blocks.js";
import { readValue } from "../build/columns.js";
import { readMechanism } from "../build/mechanism.js";
import { blockWords, ownKeyBytes } from "../build/words.js";

const node = { mac: (key, data) => createHmac("sha256", key).update(data).digest() };
const given = JSON.parse(readFileSync(0, "utf8"));
const mechanism = readMechanism(given.mechanism);
const names = Object.keys(given.records);
const outputs = Object.fromEntries(names.map((name) => [name, []]));
for (let r = 0; r < given.records[names[0]].length; r++) {
  const key = createHash("sha256").update(`${process.argv[2]} ${r}`).digest();
  for (const block of mechanism.blocks) {
    const places = block.parts.map((part) => placeOf(readValue(given.records[part.column.name][r], part.column), part));
    const words = await blockWords(node, node.mac(key, ownKeyBytes("", block.law)), places, wordCount(block));
    addNoise(block, places, words).forEach((z, j) => outputs[block.parts[j].column.name].push(z));
  }
}
process.stdout.write(JSON.stringify(outputs));
