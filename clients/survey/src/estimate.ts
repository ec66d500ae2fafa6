// Regression from noisy reports: the noise of each column is undone in expectation, and products of columns with it.
//
// A window keeps a record with probability k, else draws one of n outputs. If g has v as its average over the window of
// every value, psi(z) = g(z)/k + (1 - 1/k) mean(g) has expectation v(x) whatever the truth x. For v(x) = x, g is the
// middle of the window; for v(x) = x^2 it is the middle squared less the variance of a window, step^2 (w^2 - 1)/12. Columns
// have independent noise, so products of psi of different columns are unbiased for products of values.

import type { Part } from "../../typescript/src/blocks.js";

export type Column = Float64Array;
export interface Moments {
  /** Per record: unbiased for the value, and for its square. */
  readonly value: Column;
  readonly square: Column;
}

/** Unbiased values and squares of one column, from its outputs. */
export function undone(outputs: ArrayLike<number>, part: Part, kept: number): Moments {
  const { last, window, step, column } = part;
  const isCategory = column.kind === "categorical";
  const middle = (z: number): number => (isCategory ? z : column.lower + (z - (window - 1) / 2) * step);
  const spread = (step * step * (window * window - 1)) / 12;
  const table = [middle, (z: number) => middle(z) ** 2 - spread].map((g) => {
    const all = Array.from({ length: last + window }, (_, z) => g(z));
    const mean = all.reduce((a, b) => a + b, 0) / all.length;
    return Float64Array.from(all, (value) => value / kept + (1 - 1 / kept) * mean);
  });
  const [value, square] = table.map((psi) => Float64Array.from(outputs, (z) => psi[z]!)) as [Column, Column];
  return { value, square };
}

export interface Fit {
  readonly coefficients: readonly number[];
  readonly errors: readonly number[];
}

/** Least squares of y on a constant and columns x, with sandwich standard errors. */
export function regress(y: Column, xs: readonly Moments[]): Fit {
  const size = xs.length + 1;
  // cross products of one record, unbiased for those of the truth
  const product = (i: number, j: number, r: number): number => {
    const value = (k: number): number => (k === 0 ? 1 : xs[k - 1]!.value[r]!);
    return i === j ? (i === 0 ? 1 : xs[i - 1]!.square[r]!) : value(i) * value(j);
  };
  const rows = y.length;
  const matrix = Array.from({ length: size }, () => new Array<number>(size).fill(0));
  const right = new Array<number>(size).fill(0);
  for (let r = 0; r < rows; r++) {
    for (let i = 0; i < size; i++) {
      right[i]! += product(0, i, r) * y[r]!;
      for (let j = 0; j < size; j++) matrix[i]![j]! += product(i, j, r);
    }
  }
  const inverse = inverted(matrix);
  const coefficients = inverse.map((row) => dot(row, right));
  const meat = Array.from({ length: size }, () => new Array<number>(size).fill(0));
  for (let r = 0; r < rows; r++) {
    const score = coefficients.map((_, i) => product(0, i, r) * y[r]! - dot(coefficients, coefficients.map((__, j) => product(i, j, r))));
    for (let i = 0; i < size; i++) for (let j = 0; j < size; j++) meat[i]![j]! += score[i]! * score[j]!;
  }
  const errors = inverse.map((row) => Math.sqrt(dot(row, meat.map((each) => dot(each, row)))));
  return { coefficients, errors };
}

const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, value, k) => sum + value * b[k]!, 0);

/** The inverse of a small matrix, by elimination with pivots. */
function inverted(matrix: readonly (readonly number[])[]): number[][] {
  const size = matrix.length;
  const work = matrix.map((row, i) => [...row, ...row.map((_, j) => Number(i === j))]);
  for (let k = 0; k < size; k++) {
    const pivot = work.slice(k).reduce((best, row, i) => (Math.abs(row[k]!) > Math.abs(work[best]![k]!) ? i + k : best), k);
    [work[k], work[pivot]] = [work[pivot]!, work[k]!];
    const head = work[k]!.map((value) => value / work[k]![k]!);
    work[k] = head;
    for (let i = 0; i < size; i++) if (i !== k) work[i] = work[i]!.map((value, j) => value - work[i]![k]! * head[j]!);
  }
  return work.map((row) => row.slice(size));
}
