// The coin of a window in whole numbers: how many of 2^64 words keep a record.
//
// With N = 2^64 words, I = prod ceil(N / window) and O = prod floor(N / outputs), a record is kept with the largest T for
// which 1 + T I / ((N - T) O) is at most e^epsilon. e^epsilon is taken to 50 decimal digits, as all clients take it.

export const WORDS = 1n << 64n;
const BITS = 448n; // of the fixed-point exponential: 2^-380 after all operations, far beyond 50 digits
const ONE = 1n << BITS;
const DIGITS = 50;

/** A double as [m, k], which is m / 2^k exactly, k not negative. */
function exactly(value: number): [bigint, bigint] {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = (bits >> 52n) & 2047n;
  const fraction = (bits & ((1n << 52n) - 1n)) | (exponent ? 1n << 52n : 0n);
  const power = 1075n - (exponent || 1n);
  return power >= 0n ? [fraction, power] : [fraction << -power, 0n];
}

/** e^x in fixed point, for x from 0 to 31: by its series at x / 2^16, squared 16 times. */
function exponential(x: number): bigint {
  const [top, power] = exactly(x);
  const small = (top << BITS) >> (power + 16n);
  let sum = ONE;
  for (let term = ONE, k = 1n; term; k++) {
    term = ((term * small) >> BITS) / k;
    sum += term;
  }
  for (let k = 0; k < 16; k++) sum = (sum * sum) >> BITS;
  return sum;
}

/** A rational [top, bottom] that is at most e^epsilon - 1, and less by a part in 10^40: 50 digits, rounded down. */
function odds(epsilon: number): [bigint, bigint] {
  const value = exponential(epsilon);
  const scale = 10n ** BigInt(DIGITS - (value >> BITS).toString().length);
  const rounded = (value * scale + (ONE >> 1n)) >> BITS;
  const less = (rounded - scale) * (10n ** 40n - 1n);
  const cut = 10n ** BigInt(Math.max(0, less.toString().length - DIGITS));
  return [(less / cut) * cut, scale * 10n ** 40n];
}

const product = (factors: bigint[]): bigint => factors.reduce((a, b) => a * b, 1n);
const inside = (windows: number[]): bigint => product(windows.map((w) => (WORDS + BigInt(w) - 1n) / BigInt(w)));
const outside = (outputs: number[]): bigint => product(outputs.map((n) => WORDS / BigInt(n)));

/** The threshold of a window's coin, as it stands in a mechanism. */
export function windowThreshold(windows: number[], outputs: number[], epsilon: number, delta: number): bigint {
  // a hair less than is stated, so that what is printed in floating point never contradicts it
  const [top, bottom] = odds(epsilon * (1 - 1e-14));
  const into = inside(windows);
  const out = outside(outputs);
  let kept = (top * out * WORDS) / (into * bottom + top * out);
  if (delta) {
    const [d, power] = exactly(delta * (1 - 1e-12));
    const size = product(windows.map(BigInt));
    const all = WORDS ** BigInt(windows.length);
    const share = top * out * size; // over bottom * all
    const more = (WORDS * (d * bottom * all + (share << power))) / ((into * size * bottom + share) << power);
    if (more > kept) kept = more;
  }
  return kept < WORDS ? kept : WORDS - 1n;
}

/** The threshold of a response's coin: floor(keep 2^64). */
export function responseThreshold(keep: number): bigint {
  const [top, power] = exactly(keep);
  return (top << 64n) >> power;
}

/** The largest ratio of probabilities of any output under any two records. */
export function worstRatio(windows: number[], outputs: number[], threshold: bigint): number {
  const ratio = ((threshold * inside(windows)) << 64n) / ((WORDS - threshold) * outside(outputs));
  return 1 + Number(ratio) / 2 ** 64;
}
