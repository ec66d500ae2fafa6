// Made-up neighbours, and what their devices would send: noise by the same law as the client's, on the same lattice.

import { addNoise, placeOf, wordCount } from "../../typescript/src/blocks.js";
import type { Mechanism } from "../../typescript/src/mechanism.js";
import { WORDS } from "../../typescript/src/threshold.js";
import { regress, undone, type Column, type Fit } from "./estimate.js";

/** Random words of 64 bits, so many at a time. */
export type Source = (count: number) => BigUint64Array;

export const fromPlatform: Source = (count) => {
  const out = new BigUint64Array(count);
  for (let at = 0; at < count; at += 8192) crypto.getRandomValues(out.subarray(at, at + 8192)); // 64 kB at once
  return out;
};

/** What is true of the neighbours: contentment = 8.5 - 0.5 hours - 1.5 if they read messages in secret, and chance. */
export const TRUTH = { intercept: 8.5, hours: -0.5, secret: -1.5 };

export interface People {
  readonly hours: Column;
  readonly content: Column;
  /** 1 if they read messages in secret. */
  readonly secret: Column;
}

export function neighbours(count: number, source: Source): People {
  const words = source(5 * count);
  const even = (k: number): number => (Number(words[k]! >> 11n) + 0.5) / 2 ** 53;
  const normal = (k: number): number => Math.sqrt(-2 * Math.log(even(k))) * Math.cos(2 * Math.PI * even(k + 1));
  const people = { hours: new Float64Array(count), content: new Float64Array(count), secret: new Float64Array(count) };
  for (let r = 0; r < count; r++) {
    const secret = even(5 * r) < 0.4 ? 1 : 0;
    const hours = between(0, Math.round(5.5 + 3 * normal(5 * r + 1)), 12);
    people.secret[r] = secret;
    people.hours[r] = hours;
    people.content[r] = between(0, Math.round(TRUTH.intercept + TRUTH.hours * hours + TRUTH.secret * secret + normal(5 * r + 3)), 10);
  }
  return people;
}

const between = (low: number, x: number, high: number): number => Math.min(Math.max(x, low), high);

/** Outputs of every column, as the devices of these people would send them. */
export function reported(people: People, mechanism: Mechanism, source: Source): Record<string, number[]> {
  const outputs: Record<string, number[]> = {};
  for (const block of mechanism.blocks) {
    const size = wordCount(block);
    const words = source(size * people.hours.length);
    for (const part of block.parts) outputs[part.column.name] = [];
    for (let r = 0; r < people.hours.length; r++) {
      const places = block.parts.map((part) => placeOf(people[part.column.name as keyof People][r]!, part));
      const drawn = addNoise(block, places, Array.from(words.subarray(size * r, size * (r + 1))));
      block.parts.forEach((part, j) => outputs[part.column.name]!.push(drawn[j]!));
    }
  }
  return outputs;
}

/** The regression of contentment on hours and secrets, from reports alone. */
export function fitReports(outputs: Record<string, readonly number[]>, mechanism: Mechanism): Fit {
  const moments = new Map(
    mechanism.blocks.map((block) => {
      const part = block.parts[0]!;
      const kept = Number((block.threshold << 53n) / WORDS) / 2 ** 53;
      return [part.column.name, undone(outputs[part.column.name]!, part, kept)];
    }),
  );
  return regress(moments.get("content")!.value, [moments.get("hours")!, moments.get("secret")!]);
}

/** The same regression from the truth, which nobody has but this page. */
export function fitTruth(people: People): Fit {
  const exact = (value: Column): { value: Column; square: Column } => ({ value, square: value.map((x) => x * x) });
  return regress(people.content, [exact(people.hours), exact(people.secret)]);
}
