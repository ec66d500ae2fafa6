// A mechanism, read strictly from its JSON: what is not understood must not be released.

import { isNormal, join, text, u64 } from "./bytes.js";
import { Block, readBlock } from "./blocks.js";
import { Column, readColumn } from "./columns.js";
import { bad, refuse } from "./errors.js";
import { fields, lexeme, list, parse } from "./json.js";

/** The versions of the mechanism's format that this client knows. */
export const VERSIONS: readonly number[] = [4];

export interface Mechanism {
  /** The columns that a report has, in order. */
  readonly columns: readonly Column[];
  readonly omitted: readonly string[];
  readonly blocks: readonly Block[];
}

export function readMechanism(source: unknown): Mechanism {
  const given = fields(parse(source), "the mechanism", ["format", "version", "schema", "blocks", "target"]);
  if (given.get("format") !== "versadp mechanism") bad("this is not a mechanism");
  if (!VERSIONS.some((version) => lexeme(given.get("version")) === String(version))) bad("unknown version");
  const schema = fields(given.get("schema"), "the schema", ["columns"], ["id", "rows_per_person"]);
  if (schema.has("id")) bad("a device needs no id column");
  if (schema.has("rows_per_person") && lexeme(schema.get("rows_per_person")) !== "1") bad("a device reports one row per person");
  const columns = new Map<string, Column>();
  for (const column of list(schema.get("columns"), "columns").map(readColumn)) {
    if (columns.has(column.name)) bad("a column twice");
    columns.set(column.name, column);
  }
  const used = new Set<string>();
  const blocks = list(given.get("blocks"), "blocks").map((entry) => readBlock(entry, columns, used));
  const all = [...columns.values()];
  const released = all.filter((column) => column.kind !== "omitted");
  for (const column of released) {
    if (column.kind !== "public" && !used.has(column.name)) bad(`column without noise: ${column.name}`);
  }
  if (!blocks.length) bad("nothing to protect");
  return { columns: released, omitted: all.filter((column) => column.kind === "omitted").map((column) => column.name), blocks };
}

export const checkContext = (context: unknown): string => (isNormal(context) ? context : refuse("options", "context must be NFC text"));

/** The typed bytes whose digest is the mechanism's fingerprint. */
export function fingerprintBytes(mechanism: Mechanism, context: string): Uint8Array {
  const columns = mechanism.columns.map((column) => join(text(column.name), text(column.kind)));
  const laws = mechanism.blocks.map((block) => join(u64(block.law.length), block.law));
  return join(text("versadp mechanism 4"), text(context), u64(columns.length), ...columns, u64(laws.length), ...laws);
}
