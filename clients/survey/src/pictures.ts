// Pictures: what a device can answer and how likely, and a coefficient with its interval. Strings of SVG from numbers.

import type { Block } from "../../typescript/src/blocks.js";
import { WORDS } from "../../typescript/src/threshold.js";
import type { Fit } from "./estimate.js";

const WIDTH = 320;
const rounded = (x: number): string => x.toFixed(1);

/** The value that an output stands for. */
export function valueOf(z: number, block: Block): number {
  const { column, window, step } = block.parts[0]!;
  return column.kind === "categorical" ? z : column.lower + (z - (window - 1) / 2) * step;
}

/** Probabilities of all outputs, given the place of the truth. */
export function law(block: Block, place: number): number[] {
  const { window, outputs } = block.parts[0]!;
  const kept = Number((block.threshold << 53n) / WORDS) / 2 ** 53;
  return Array.from({ length: outputs }, (_, z) => (z >= place && z < place + window ? kept / window : 0) + (1 - kept) / outputs);
}

/** Bars for the probability of every answer; the truth and the answer that was drawn are marked below. */
export function lawPicture(block: Block, place: number, drawn: number, say: (value: number) => string): string {
  const shares = law(block, place);
  const top = Math.max(...shares);
  const wide = WIDTH / shares.length;
  const gap = Math.min(2, wide / 4);
  const bars = shares.map((share, z) => {
    const height = Math.max(2, (70 * share) / top);
    return `<rect class="${z === drawn ? "drawn" : "bar"}" x="${rounded(z * wide + gap / 2)}" y="${rounded(76 - height)}" width="${rounded(wide - gap)}" height="${rounded(height)}"/>`;
  });
  const at = (z: number): number => (z + 0.5) * wide;
  const truth = at(place + (block.parts[0]!.window - 1) / 2);
  const last = shares.length - 1;
  return (
    `<svg viewBox="0 0 ${WIDTH} 94" role="img" aria-label="Bars: how likely each answer is. Yours is marked.">${bars.join("")}` +
    `<path class="truth" d="M${rounded(truth)} 78 l-9 15 h18 z"/></svg>` +
    `<p class="ends"><span>${say(valueOf(0, block))}</span><span>${say(valueOf(last, block))}</span></p>`
  );
}

/** One line per coefficient: an interval, its middle, and the value that is true of these neighbours. */
export function intervalPicture(fits: readonly (readonly [string, Fit])[], index: number, truth: number): string {
  const ends = fits.flatMap(([, { coefficients, errors }]) => [coefficients[index]! - 1.96 * errors[index]!, coefficients[index]! + 1.96 * errors[index]!]);
  const [low, high] = [Math.min(truth, 0, ...ends), Math.max(truth, 0, ...ends)];
  const x = (value: number): number => 10 + ((WIDTH - 20) * (value - low)) / (high - low);
  const lines = fits.map(([name, { coefficients, errors }], k) => {
    const [middle, half] = [coefficients[index]!, 1.96 * errors[index]!];
    const y = 30 + 34 * k;
    return (
      `<text x="0" y="${y - 10}">${name}</text><line class="interval" x1="${rounded(x(middle - half))}" x2="${rounded(x(middle + half))}" y1="${y}" y2="${y}"/>` +
      `<circle class="middle" cx="${rounded(x(middle))}" cy="${y}" r="4"/>`
    );
  });
  const height = 30 + 34 * fits.length;
  const mark = (value: number, kind: string, label: string): string =>
    `<line class="${kind}" x1="${rounded(x(value))}" x2="${rounded(x(value))}" y1="8" y2="${height - 22}"/>` +
    `<text x="${rounded(Math.min(Math.max(x(value), 4 * label.length), WIDTH - 4 * label.length))}" y="${height - 6}" text-anchor="middle">${label}</text>`;
  return (
    `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Intervals of the coefficient; the table has the numbers.">` +
    `${mark(truth, "true", `truth ${String(truth).replace("-", "−")}`)}${mark(0, "zero", "0")}${lines.join("")}</svg>`
  );
}
