// Put the page together: one file, index.html, with style, script and mechanism in it, and a policy that lets it send
// nothing but to this machine. Needs the packages of ../typescript.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const here = new URL(".", import.meta.url);
const { build } = createRequire(new URL("../typescript/package.json", here))("esbuild");
const read = (name) => readFileSync(new URL(name, here), "utf8");
const bundled = async (entry, options) => {
  const made = await build({ entryPoints: [new URL(entry, here).pathname], bundle: true, minify: true, write: false, format: "esm", target: "es2022", charset: "utf8", ...options });
  return made.outputFiles[0].text.trim();
};
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const script = (await bundled("src/page.ts", { define: { MECHANISM: JSON.stringify(JSON.stringify(JSON.parse(read("mechanism.json")))) } })).replaceAll("</", "<\\/");
const style = await bundled("page.css", { loader: { ".css": "css" } });
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; connect-src http://127.0.0.1:* http://localhost:*; form-action 'none'; base-uri 'none'`;
const parts = { "%POLICY%": policy, "%STYLE%": style, "%SCRIPT%": script };
const page = read("page.html").replace(/%[A-Z]+%/g, (name) => parts[name]);
writeFileSync(process.argv[2] ?? new URL("index.html", here).pathname, page);
