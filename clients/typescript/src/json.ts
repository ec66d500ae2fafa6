// JSON without silent repairs: numbers stay text until their reader says what they are, and no name stands twice.

import { bad, VersadpError } from "./errors.js";

/** A number as it was written. */
export class Lexeme {
  constructor(readonly text: string) {}
}

/** A number as it was written; undefined for anything else. */
export const lexeme = (value: Json | undefined): string | undefined => (value instanceof Lexeme ? value.text : undefined);

export type Json = null | boolean | string | Lexeme | Json[] | Map<string, Json>;

const TOKENS = /"(?:[^"\\]|\\[^])*"([ \n\r\t]*:)?|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MOST_WHOLE = Number.MAX_SAFE_INTEGER;
const NO_JSON = "the mechanism is no JSON";

/**
 * Read JSON by the platform's parser, after each text was marked by "s", each number by "n" and each name by its place:
 * so the parser sees what every JSON parser sees, rounds no number and merges no names.
 */
export function parse(source: unknown): Json {
  if (typeof source !== "string") return bad(NO_JSON);
  let names = 0;
  const marked = source.replace(TOKENS, (token, colon?: string) =>
    token[0] !== '"' ? `"n${token}"` : `"${colon ? names++ : ""}s${token.slice(1)}`,
  );
  try {
    return unmarked(JSON.parse(marked));
  } catch (error) {
    if (error instanceof VersadpError) throw error;
    return bad(NO_JSON);
  }
}

function unmarked(value: unknown): Json {
  if (typeof value === "string") return value[0] === "n" ? new Lexeme(value.slice(1)) : plainText(value);
  if (Array.isArray(value)) return value.map(unmarked);
  if (typeof value !== "object" || value === null) return value as null | boolean;
  const out = new Map<string, Json>();
  for (const [marked, item] of Object.entries(value)) {
    const name = plainText(marked);
    if (out.has(name)) bad("the mechanism repeats a name");
    out.set(name, unmarked(item));
  }
  return out;
}

const plainText = (marked: string): string => (/^\d*s/.test(marked) ? marked.slice(marked.indexOf("s") + 1) : bad(NO_JSON));

/** The fields of an object: all that are needed, perhaps optional ones, and no others. */
export function fields(value: Json | undefined, what: string, needed: string[], optional: string[] = []): Map<string, Json> {
  if (!(value instanceof Map)) return bad(`${what} must be an object`);
  for (const name of needed) if (!value.has(name)) bad(`${what} lacks ${name}`);
  for (const name of value.keys()) {
    if (![...needed, ...optional].includes(name)) bad(`${what} has an unknown field: ${name}`);
  }
  return value;
}

export const list = (value: Json | undefined, what: string): Json[] => (Array.isArray(value) ? value : bad(`${what} must be a list`));

/** A finite number in [low, high]. */
export function number(value: Json | undefined, what: string, low = -Infinity, high = Infinity): number {
  const found = Number(lexeme(value) ?? NaN) + 0; // -0 and 0 are one number
  return Number.isFinite(found) && found >= low && found <= high ? found : bad(`${what} must be a number in range`);
}

/** A whole number from `low` on that every language keeps, written without point and exponent. */
export const whole = (value: Json | undefined, what: string, low = -MOST_WHOLE): number =>
  /[.e]/i.test(lexeme(value) ?? "") ? bad(`${what} must be whole`) : number(value, what, low, MOST_WHOLE);
