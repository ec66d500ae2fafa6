// Columns as a schema declares them: their bytes in a law, and the values that a record may have in them.

import { f64, isNormal, isText, join, text, u64 } from "./bytes.js";
import { bad, refuse, quoted } from "./errors.js";
import { fields, Json, Lexeme, list, number, whole } from "./json.js";

export type Level = string | number | boolean;
type Kind = "bounded" | "dates" | "categorical" | "public" | "omitted";

export interface Column {
  readonly name: string;
  readonly kind: Kind;
  /** Whether a value may be missing: never, privately, or so that everybody sees it. */
  readonly nullable: boolean | "public";
  readonly lower: number;
  readonly upper: number;
  /** Day 0 of a column of dates, counted from 1970-01-01. */
  readonly first: number;
  readonly levels: readonly Level[];
  readonly law: Uint8Array;
}

export const isCategory = (column: Column): boolean => column.kind === "categorical";

const DAY = 86_400_000;
const BOUNDS = ["lower", "upper"];
const FIELDS = new Map<Json | undefined, string[]>([
  ["bounded", BOUNDS],
  ["dates", BOUNDS],
  ["categorical", ["levels"]],
  ["public", []],
  ["omitted", []],
]);
// fields that later versions may use: each has one value that means nothing
const NEUTRAL = new Map<string, Json>([["spacing", "linear"]]);
for (const field of ["effective", "merged", "levels", ...BOUNDS]) NEUTRAL.set(field, null);

/** Days since 1970-01-01 of a date like "2026-11-30", NaN if it is none. */
export function dayNumber(value: unknown): number {
  const day = isText(value) && /^\d{4}-\d\d-\d\d$/.test(value) && value > "0001" ? Date.parse(value) / DAY : NaN;
  return day % 1 === 0 && new Date(day * DAY).toISOString().startsWith(value as string) ? day : NaN; // no 30th of February
}

function readName(value: Json | undefined): string {
  const isName = isNormal(value) && value && !/[\p{C}\p{Z}]/u.test(value.replaceAll(" ", ""));
  return isName ? value : bad("column names must be printable NFC text");
}

export function readColumn(entry: Json): Column {
  const given = new Map(entry instanceof Map ? [...entry].filter(([field, value]) => NEUTRAL.get(field) !== value) : []);
  const name = readName(given.get("name"));
  const what = `column ${quoted(name)}`;
  const kind = given.get("type");
  const needed = FIELDS.get(kind) ?? bad(`${what}: unknown type`);
  fields(given, what, ["name", "type", ...needed], needed.length ? ["nullable", ...(kind === "bounded" ? ["step"] : [])] : []);
  const nullable = given.has("nullable") ? given.get("nullable") : false;
  if (nullable !== true && nullable !== false && nullable !== "public") return bad(`${what}: unknown nullable`);
  const head = join(text(name), u64(nullable === "public" ? 2 : Number(nullable)));
  const column: Open<Column> = { name, kind: kind as Kind, nullable, lower: 0, upper: 0, first: 0, levels: [], law: head };
  const read = { bounded: readBounds, dates: readDates, categorical: readLevels }[kind as string];
  read?.(column, given, what);
  return column;
}

type Open<T> = { -readonly [name in keyof T]: T[name] };

function readBounds(column: Open<Column>, given: Map<string, Json>, what: string): void {
  column.lower = number(given.get("lower"), `${what}: lower`);
  column.upper = number(given.get("upper"), `${what}: upper`);
  const width = column.upper - column.lower;
  if (!(width >= 1e-290 && width < Infinity)) bad(`${what}: lower must be below upper`);
  const steps = given.has("step") ? width / number(given.get("step"), `${what}: step`, 0, width) : 1;
  if (!(Math.abs(steps - Math.round(steps)) <= 1e-6)) bad(`${what}: step must divide the width`);
  column.law = join(column.law, text("bounded"), f64(column.lower), f64(column.upper));
}

function readDates(column: Open<Column>, given: Map<string, Json>, what: string): void {
  column.first = dayNumber(given.get("lower"));
  column.upper = dayNumber(given.get("upper")) - column.first;
  if (!(column.upper > 0)) bad(`${what}: dates must be like "2026-11-30"`);
  column.law = join(column.law, text("dates"), text(given.get("lower") as string), u64(column.upper));
}

function readLevels(column: Open<Column>, given: Map<string, Json>, what: string): void {
  const levels = list(given.get("levels"), `${what}: levels`).map((level): Level => {
    if (level instanceof Lexeme) return whole(level, `a level of ${what}`);
    if (typeof level === "boolean") return level;
    return isNormal(level) ? level : bad(`${what}: unknown level`);
  });
  const kinds = new Set(levels.map((level) => typeof level));
  if (levels.length < 2 || kinds.size !== 1 || new Set(levels).size !== levels.length) {
    bad(`${what}: levels must differ, of one kind`);
  }
  const [first] = levels;
  const kind = isText(first) ? "text" : typeof first === "number" ? "whole" : "truth";
  const coded = levels.map((level) => (isText(level) ? text(level) : u64(Number(level))));
  column.levels = levels;
  column.law = join(column.law, text("categorical"), text(kind), u64(levels.length), ...coded);
}

/** A private value as a number (a level's number, days since the first); NaN if it is missing. */
export function readValue(value: unknown, column: Column): number {
  const { name, kind, nullable, lower, upper, first, levels } = column;
  const wrong = (problem: string): never => refuse("record", `column ${quoted(name)} ${problem}`);
  const blank = value === "" && isText(levels[0]) && !levels.includes("");
  if (value === null || value === undefined || Number.isNaN(value) || blank) return nullable ? NaN : wrong("is missing");
  if (kind === "public") return isPublic(value) ? 0 : wrong("needs a finite number, text or true/false");
  if (isCategory(column)) {
    const found = levels.indexOf(value as Level);
    return found < 0 ? wrong("is none of its levels") : found;
  }
  if (kind === "dates") {
    const day = dayNumber(value); // a Date has a time zone, and may be another day
    return Number.isNaN(day) ? wrong('needs text like "2026-11-30"') : day - first;
  }
  const most = Math.max(2 ** 53, -lower, upper, lower, -upper);
  return typeof value === "number" && Math.abs(value) <= most ? value : wrong("needs a finite number below 2^53");
}

const isPublic = (value: unknown): value is Level => isText(value) || typeof value === "boolean" || Number.isFinite(value);
