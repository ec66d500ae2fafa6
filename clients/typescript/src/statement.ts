// What a report gives away, in words.

import type { Block } from "./blocks.js";
import type { Mechanism } from "./mechanism.js";
import { WORDS, worstRatio } from "./threshold.js";

/** A figure with three digits, rounded up: no claim is better than what holds. */
function up(value: number): string {
  if (value === 0) return "0";
  const power = 10 ** (Math.floor(Math.log10(value)) - 2);
  return String(Number((Math.ceil((value * (1 - 1e-12)) / power) * power).toPrecision(3)));
}

/** Epsilon of one report of a block, by the coin that is tossed. */
export function blockEpsilon(block: Block): number {
  if (block.delta) return block.epsilon;
  const [windows, outputs] = [block.parts.map((part) => part.window), block.parts.map((part) => part.outputs)];
  return Math.log(worstRatio(windows, outputs, block.threshold)) * (1 + 1e-12);
}

function blockLine(block: Block): string {
  const kept = Number((block.threshold * 1000n) / WORDS) / 10;
  const epsilon = blockEpsilon(block);
  const names = block.parts.map(({ column, window, step }) =>
    window > 1 ? `${column.name} (give or take ${up(((window - 1) / 2) * step)}${column.kind === "dates" ? " days" : ""})` : column.name,
  );
  const but = block.delta ? `, but for a probability of ${up(block.delta)}` : "";
  return (
    `- ${names.join(", ")}: true with probability ${kept}%, else drawn at random. Any two truths explain it ` +
    `within a factor of ${up(Math.exp(epsilon))} (epsilon ${up(epsilon)}${but}).`
  );
}

/** What one report gives away, and what `most` different ones do. */
export function statement(mechanism: Mechanism, most: number): string {
  const lines = mechanism.blocks.map(blockLine);
  for (const { name, kind, nullable } of mechanism.columns) {
    if (kind === "public") lines.push(`- ${name}: sent as it is, protected by nothing.`);
    if (nullable === "public") lines.push(`- ${name}: that it is missing is sent as it is.`);
  }
  const sum = (each: (block: Block) => number): number => mechanism.blocks.map(each).reduce((a, b) => a + b);
  const [epsilon, delta] = [sum(blockEpsilon), sum((block) => block.delta)];
  const figures = (reports: number): string => `epsilon ${up(reports * epsilon)}${delta ? `, delta ${up(Math.min(1, reports * delta))}` : ""}`;
  return [
    "What a report gives away:",
    ...lines,
    `All private columns together: ${figures(1)}.`,
    `All reports of this device, at most ${most} different per column: ${figures(most)}.`,
    "Equal values get equal answers: sending them again gives away nothing more. That a value changed, or came back, shows.",
    "A lost key (cleared storage, another browser), a second device and a changed law of a column draw fresh noise: each is",
    "a further report.",
  ].join("\n");
}
