// What tests ask of the page's arithmetic: neighbours, reports and fits from words that follow from a seed.
//
//   node check.mjs fits PEOPLE SEED            outputs and fits of one crowd, as JSON
//   node check.mjs coverage PEOPLE CROWDS      how often the 95% intervals hold the truth, per coefficient
//   node check.mjs means                       mean of the undone noise under each truth, by the law of the noise

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const here = new URL(".", import.meta.url);
const { build } = createRequire(new URL("../typescript/package.json", here))("esbuild");
const source = `export * from "./src/simulate.ts"; export { undone } from "./src/estimate.ts"; export { law } from "./src/pictures.ts"; export { readMechanism } from "../typescript/src/mechanism.ts";`;
const made = await build({ stdin: { contents: source, resolveDir: here.pathname }, bundle: true, write: false, format: "esm" });
const page = await import(`data:text/javascript;base64,${Buffer.from(made.outputFiles[0].text).toString("base64")}`);
const mechanism = page.readMechanism(readFileSync(new URL("mechanism.json", here), "utf8").trim());

/** Words by SHA-256 of a counter: the same for a seed, and as good as random for statistics. */
function seeded(seed) {
  let next = 0;
  return (count) => {
    const out = new BigUint64Array(count);
    for (let at = 0; at < count; at += 4) {
      const digest = createHash("sha256").update(`${seed} ${next++}`).digest();
      for (let k = 0; k < 4 && at + k < count; k++) out[at + k] = digest.readBigUInt64LE(8 * k);
    }
    return out;
  };
}

const [what, people, last] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const crowd = (seed) => {
  const words = seeded(seed);
  const truth = page.neighbours(people, words);
  const outputs = page.reported(truth, mechanism, words);
  return { outputs, reports: page.fitReports(outputs, mechanism), truth: page.fitTruth(truth), people: truth };
};
if (what === "fits") {
  const { people: true_, ...rest } = crowd(last);
  console.log(JSON.stringify({ ...rest, people: Object.fromEntries(Object.entries(true_).map(([name, values]) => [name, [...values]])) }));
} else if (what === "means") {
  const found = {};
  for (const block of mechanism.blocks) {
    const part = block.parts[0];
    const kept = Number((block.threshold << 53n) >> 64n) / 2 ** 53;
    const all = Array.from({ length: part.outputs }, (_, z) => z);
    const psi = page.undone(all, part, kept);
    const mean = (place, of) => page.law(block, place).reduce((sum, share, z) => sum + share * of[z], 0);
    found[part.column.name] = Array.from({ length: part.last + 1 }, (_, place) => [mean(place, psi.value), mean(place, psi.square)]);
  }
  console.log(JSON.stringify(found));
} else {
  const held = [0, 0, 0];
  for (let seed = 0; seed < last; seed++) {
    const { reports, truth } = crowd(seed);
    // against what the crowd's true answers give: that is what noise hides
    reports.coefficients.forEach((b, k) => (held[k] += Math.abs(b - truth.coefficients[k]) <= 1.96 * reports.errors[k]));
  }
  console.log(JSON.stringify(held));
}
