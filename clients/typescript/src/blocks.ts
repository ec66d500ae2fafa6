// Blocks of noise: a window or randomised response on some columns, in whole numbers.
//
// One coin per block. Kept, each column moves to a place in its window; else to any of its outputs, all alike. Randomised
// response is a window of one place.

import { join, text, u64 } from "./bytes.js";
import { isCategory, type Column } from "./columns.js";
import { bad, quoted } from "./errors.js";
import { fields, Json, lexeme, list, number, whole } from "./json.js";
import { responseThreshold, windowThreshold } from "./threshold.js";

/** A place on a column's lattice; null where a value is publicly missing. */
export type Place = number | null;

export interface Part {
  readonly column: Column;
  readonly last: number;
  readonly window: number;
  /** How many outputs show a value that is privately missing: at most a window of them, behind those of values. */
  readonly hidden: number;
  readonly outputs: number;
  readonly step: number;
}

export interface Block {
  readonly noise: "window" | "response";
  readonly parts: readonly Part[];
  readonly threshold: bigint;
  /** As the mechanism states them; for a response it follows from the threshold. */
  readonly epsilon: number;
  readonly delta: number;
  readonly law: Uint8Array;
}

const MOST_OUTPUTS = 2 ** 31 - 1;
const LEAST_EPSILON = 1e-4;
const MOST_EPSILON = 30;

export function readBlock(entry: Json, columns: Map<string, Column>, used: Set<string>): Block {
  const noise = entry instanceof Map ? entry.get("noise") : undefined;
  if (noise === "zero-inflated") {
    bad("zero-inflated noise would leave a report unchanged with the exact rate, which is delta: use windows");
  }
  if (noise !== "window" && noise !== "response") bad("unknown noise");
  const [needed, optional] = noise === "window" ? [["epsilon", "cells", "window", "delta"], ["missing"]] : [["keep"], []];
  const given = fields(entry, "a block", ["noise", "columns", "derived", ...needed], optional);
  const own = list(given.get("columns"), "columns of a block").map((name) => {
    const column = columns.get(name as string);
    if (!column || column.kind === "public" || column.kind === "omitted" || used.has(column.name)) {
      return bad("each private column needs one block, and others none");
    }
    used.add(column.name);
    return column;
  });
  if (!own.length) bad("a block needs columns");
  return noise === "window" ? readWindow(given, own) : readResponse(given, own);
}

function readWindow(given: Map<string, Json>, columns: Column[]): Block {
  const epsilon = number(given.get("epsilon"), "epsilon", LEAST_EPSILON, MOST_EPSILON);
  const delta = number(given.get("delta"), "delta", 0, 1 - 2 ** -53);
  const numbers = columns.filter((column) => !isCategory(column));
  const sizes = (what: string, some = numbers): ((column: Column) => number) => {
    const found = fields(given.get(what), what, some.map((column) => column.name));
    return (column) => whole(found.get(column.name), what, 1);
  };
  const [cells, window] = [sizes("cells"), sizes("window")];
  const missing = given.has("missing") ? sizes("missing", numbers.filter((column) => column.nullable === true)) : window;
  const parts = columns.map((column) => {
    if (isCategory(column)) return levelPart(column);
    return numberPart(column, cells(column), window(column), column.nullable === true ? missing(column) : 0);
  });
  const [lasts, windows, outputs] = [parts.map((part) => part.last), parts.map((part) => part.window), parts.map((part) => part.outputs)];
  const threshold = windowThreshold(windows, outputs, epsilon, delta);
  checkDerived(given, [["last", lasts], ["window", windows], ["outputs", outputs]], threshold);
  const rows = parts.flatMap((part) => [u64(part.last), u64(part.window), u64(part.outputs)]);
  return { noise: "window", parts, threshold, epsilon, delta, law: join(head("window", columns), u64(threshold), ...rows) };
}

function numberPart(column: Column, last: number, window: number, hidden: number): Part {
  const outputs = last + window + hidden;
  const step = (column.upper - column.lower) / last;
  if (outputs > MOST_OUTPUTS || hidden > window || (hidden && hidden < window && (hidden + last) % 2)) bad("impossible outputs");
  return { column, last, window, hidden, outputs, step };
}

function levelPart(column: Column): Part {
  const [last, hidden] = [column.levels.length - 1, Number(column.nullable === true)];
  return { column, last, window: 1, hidden, outputs: last + 1 + hidden, step: 1 };
}

function readResponse(given: Map<string, Json>, columns: Column[]): Block {
  const keep = number(given.get("keep"), "keep", 0, 1 - 2 ** -53);
  const [column, ...others] = columns as [Column, ...Column[]];
  if (others.length || !isCategory(column)) bad("a response needs one category");
  const part = levelPart(column);
  const threshold = responseThreshold(keep);
  checkDerived(given, [["levels", part.outputs]], threshold);
  const law = join(head("response", columns), u64(threshold), u64(part.outputs));
  return { noise: "response", parts: [part], threshold, epsilon: 0, delta: 0, law };
}

const head = (noise: string, columns: Column[]): Uint8Array => join(text(noise), u64(columns.length), ...columns.map((column) => column.law));

/** No threshold is above what epsilon allows: the integers that a mechanism states are computed anew. */
function checkDerived(given: Map<string, Json>, sizes: [string, number | number[]][], threshold: bigint): void {
  const stated = fields(given.get("derived"), "derived", ["threshold", ...sizes.map(([name]) => name)]);
  const same = sizes.every(([name, value]) => written(stated.get(name)) === quoted(value));
  if (!same || stated.get("threshold") !== String(threshold)) bad("derived numbers that the law does not give");
}

/** JSON of whole numbers and lists of them, as it was written. */
const written = (value: Json | undefined): string =>
  lexeme(value) ?? `[${(Array.isArray(value) ? value : []).map(written)}]`;

/** Round to the nearest whole number, ties to even. */
function nearest(x: number): number {
  const below = Math.floor(x);
  const rest = x - below;
  return rest < 0.5 || (rest === 0.5 && below % 2 === 0) ? below : below + 1;
}

/** The place of a value before noise. Each operation is rounded by itself, in this order. */
export function placeOf(value: number, part: Part): Place {
  const { column, last, window, step } = part;
  if (isNaN(value)) return column.nullable === true ? last + window : null;
  if (isCategory(column)) return value;
  return nearest((Math.min(Math.max(value, column.lower), column.upper) - column.lower) / step);
}

export const isOutside = (value: number, column: Column): boolean =>
  !isCategory(column) && (value < column.lower || value > column.upper);

/** How many words a block takes: the coin, and one per column. */
export const wordCount = (block: Block): number => 1 + block.parts.length;

/** Outputs of a block. Both places are computed whatever the coin says. */
export function addNoise(block: Block, places: readonly Place[], words: readonly bigint[]): Place[] {
  const kept = words[0]! < block.threshold;
  return block.parts.map((part, j) => {
    const [word, place] = [words[j + 1]!, places[j]!];
    const moved = Number((word * BigInt(part.window)) >> 64n) + (place ?? 0);
    // a kept missing value beyond its own outputs is shown in the middle of those of values
    const near = moved < part.outputs ? moved : moved - part.outputs + Math.floor((part.last + part.hidden) / 2);
    const far = Number((word * BigInt(part.outputs)) >> 64n);
    return place === null ? null : kept ? near : far;
  });
}
