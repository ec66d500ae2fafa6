// Errors say what happened and what to do, and never show a value of a record.

export type Reason = "mechanism" | "options" | "record" | "round" | "spent" | "store";

/** What this package throws; `reason` tells an app what kind of problem it is. */
export class VersadpError extends Error {
  readonly reason: Reason;

  constructor(reason: Reason, message: string) {
    super(message);
    this.name = "VersadpError";
    this.reason = reason;
  }
}

export function refuse(reason: Reason, message: string): never {
  throw new VersadpError(reason, message);
}

/** Refuse a mechanism. */
export const bad = (message: string): never => refuse("mechanism", message);

/** JSON of a value, by a short name: it is used often, and this file is to be small. */
export const quoted = (value: unknown): string => JSON.stringify(value);
