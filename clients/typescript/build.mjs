// Build the package: types and modules by tsc into build/, then one small file per entry into dist/.
//
// Names of internal properties are shortened; those that anybody outside sees (reports, options, entries of a store) are
// not among them.

import { copyFileSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { build } from "esbuild";

const INTERNAL =
  /^(nullable|levels|law|omitted|blocks|columns|column|noise|parts|threshold|outputs|last|window|hidden|step|kind|lower|upper|first|epsilon|delta|fresh|mac|derived|contents|outside|text|marked)$/;
const MOST_BYTES = 16_000;

const VECTORS = "../../src/versadp/devices/vectors-4.json";
const LICENCE = "../../LICENSE";

const here = new URL(".", import.meta.url).pathname;
process.chdir(here);
for (const folder of ["build", "dist"]) rmSync(folder, { recursive: true, force: true });
if (process.argv[2] === "--untyped") {
  // for tests of changed sources: modules alone, without types
  await build({ entryPoints: readdirSync("src").map((file) => `src/${file}`), outdir: "build", format: "esm", target: "es2022" });
} else {
  const compiled = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc"], { stdio: "inherit" });
  if (compiled.status) process.exit(compiled.status);
}
await build({
  entryPoints: ["build/index.js", "build/plain.js"],
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  mangleProps: INTERNAL,
});
mkdirSync("dist", { recursive: true });
for (const file of readdirSync("build")) if (file.endsWith(".d.ts")) copyFileSync(`build/${file}`, `dist/${file}`);
copyFileSync(VECTORS, "vectors-4.json");
copyFileSync(LICENCE, "LICENSE");
for (const entry of ["index", "plain"]) {
  const { size } = statSync(`dist/${entry}.js`);
  console.log(`dist/${entry}.js ${size} bytes`);
  if (size >= MOST_BYTES) throw new Error(`dist/${entry}.js is ${size} bytes, and may have fewer than ${MOST_BYTES}`);
}
