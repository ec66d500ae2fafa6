// Compare the client with what Python reported: `node compare.mjs FILE` reads JSON lines, one mechanism with its records
// per line, and says how many reports are equal by each entry, and how long one takes. Browsers import `compare`.

import { deviceWithKey, entries } from "./parity.mjs";

export async function compare(file, lines) {
  const entry = await entries(file);
  const found = { entry: file, mechanisms: 0, fingerprints: 0, records: 0, same: 0, clamped: 0, milliseconds: 0, opening: 0, different: [] };
  for (const line of lines) {
    const given = JSON.parse(line);
    const clients = new Map();
    found.mechanisms++;
    let told = [];
    for (const [number, each] of given.records.entries()) {
      const who = `${each.key} ${each.context}`;
      if (!clients.has(who)) {
        const begun = performance.now();
        const options = { most: 1e6, context: each.context, clamped: (columns) => (told = [...columns]) };
        clients.set(who, await deviceWithKey(entry, given.mechanism, each.key, options));
        found.opening += performance.now() - begun;
        if (each.context === "") found.fingerprints += clients.get(who).fingerprint === given.fingerprint ? 0 : 1;
      }
      told = [];
      const round = `r${number}`; // a device answers a round once: the id is compared by the vectors
      const begun = performance.now();
      const report = await clients.get(who).report(each.record, { round });
      found.milliseconds += performance.now() - begun;
      found.records++;
      const same = JSON.stringify(report.values) === JSON.stringify(each.report.values) && report.mechanism === each.report.mechanism;
      found.same += same;
      found.clamped += JSON.stringify(told.sort()) === JSON.stringify([...each.clamped].sort());
      if (!same && found.different.length < 3) found.different.push([each.record, each.report.values, report.values]);
    }
  }
  return found;
}

if (globalThis.process?.argv[2]?.endsWith(".jsonl")) {
  const { readFileSync } = await import("node:fs");
  const lines = readFileSync(process.argv[2], "utf8").trim().split("\n");
  const found = [];
  for (const file of process.argv[3] ? [process.argv[3]] : ["index", "plain"]) found.push(await compare(file, lines));
  console.log(JSON.stringify(found));
}
