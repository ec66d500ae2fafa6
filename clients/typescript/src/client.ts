// The client that an app uses: it keeps the key, answers a round once, and counts what was given away.
//
// A report is a pure function of key, mechanism, context and record. It is written to the store before it is returned,
// so that whatever happens between writing and sending, the same round has the same report.

import { addNoise, Block, isOutside, Place, placeOf, wordCount } from "./blocks.js";
import { hex, isText, join, text } from "./bytes.js";
import { Level, readValue } from "./columns.js";
import { bad, refuse, quoted } from "./errors.js";
import { checkContext, fingerprintBytes, Mechanism, readMechanism } from "./mechanism.js";
import { statement } from "./statement.js";
import type { Entry, Store } from "./stores.js";
import { blockWords, ownKeyBytes, placesBytes, Primitives } from "./words.js";

/** A report as it goes on the wire: `JSON.stringify` makes its line. */
export interface Report {
  readonly format: "versadp report";
  readonly version: 1;
  readonly mechanism: string;
  readonly round: string;
  readonly id: string;
  readonly values: Readonly<Record<string, Level | null>>;
}

export interface Options {
  /** Where this device keeps its key and what it gave away: `indexedDbStore()`, or one of your own. */
  store: Store;
  /** How many different reports of a column this device may ever give: fixed at the first open, and never raised. */
  most: number;
  /** Name of the collector, by which two collectors get independent noise. */
  context?: string;
  /** Fingerprint of the only mechanism that is accepted. */
  fingerprint?: string;
  /** Told the names of columns whose values were moved to the nearest bound; by default a warning on the console. */
  clamped?: (columns: readonly string[]) => void;
}

const OPTIONS = ["store", "most", "context", "fingerprint", "clamped"];
const MARK = 32; // hexadecimal digits
const ROUND = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** A device and one mechanism; made by `Versadp.open`. */
export interface Client {
  /** The mechanism's name in reports. */
  readonly fingerprint: string;
  /** How many different reports of a column this device may ever give. */
  readonly most: number;
  /**
   * The report of a record in a round. The first one is kept: whatever the record says later, the round has this report.
   *
   * @param record one value for each column: numbers, texts and truth as their schema has them, dates like "2026-11-30",
   *   null for what is missing
   */
  report(record: Readonly<Record<string, unknown>>, options: { round: string }): Promise<Report>;
  /** What a report gives away, in words, and what all reports that this device may give do. */
  statement(): string;
}

type Values = Record<string, Level | null>;
type Mark = readonly [columns: string[], mark: string];

function checkOptions(options: object, known: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) refuse("options", `unknown option ${name}; keys are the device's own`);
  }
}

/** Open a mechanism with the cryptography given. */
export async function openClient<Key>(make: Primitives<Key>, mechanismJson: string, options: Options): Promise<Client> {
  checkOptions(options, OPTIONS);
  const { store, most, context = "", clamped = warn } = options;
  if (!store?.update) refuse("options", "a store is needed");
  if (!Number.isSafeInteger(most) || most < 1) refuse("options", "most must be a whole number");
  checkContext(context);
  const mechanism = readMechanism(mechanismJson);
  const fingerprint = hex(await make.hash(fingerprintBytes(mechanism, context)));
  if ((options.fingerprint ?? fingerprint) !== fingerprint) bad("the mechanism has another fingerprint");

  const mac = async (key: Key, ...parts: Uint8Array[]): Promise<string> => hex(await make.mac(key, join(...parts)));
  const named = async (key: Key): Promise<string> => (await mac(key, text("versadp key name"))).slice(0, MARK);
  const fresh = await make.fresh();
  const proposed: Entry = { version: 1, key: fresh, name: await named(await make.open(fresh)), most, spent: {}, rounds: {} };
  const device = await store.update((old = proposed) => ({ ...checkEntry(old), most: lowered(old.most, most) }));
  const key = await make.open(device.key);
  if ((await named(key)) !== device.name) refuse("store", "the store has another key");
  const own = await Promise.all(mechanism.blocks.map(async (block) => make.derived(await make.mac(key, ownKeyBytes(context, block.law)))));

  /** Outputs of a block into `values`, and the mark of what they are about. */
  const answer = async (block: Block, at: number, places: Place[], values: Values): Promise<Mark> => {
    const words = await blockWords(make, own[at]!, places, wordCount(block));
    const names = block.parts.map((part) => part.column.name);
    addNoise(block, places, words).forEach((output, j) => (values[names[j]!] = output));
    const mark = await mac(key, text("versadp spent"), text(context), text(hex(block.law)), placesBytes(places));
    return [names, mark.slice(0, MARK)];
  };

  const report: Client["report"] = async (record, more) => {
    checkOptions(more, ["round"]);
    const { round } = more;
    if (!isText(round) || !ROUND.test(round)) refuse("round", "a round is up to 64 letters, digits, dots, - and _");
    const { contents, values, outside } = readRecord(record, mechanism);
    const marks = await Promise.all(mechanism.blocks.map((block, b) => answer(block, b, contents[b]!, values)));
    const id = await mac(key, text("versadp report"), text(fingerprint), text(round));
    const made: Report = { format: "versadp report", version: 1, mechanism: fingerprint, round, id, values };
    const place = quoted([context, round]);
    let isNew = false;
    const { rounds } = await store.update((old) => {
      if (!old || checkEntry(old).name !== device.name) return refuse("store", "the store was emptied since: open it again");
      isNew = !(place in old.rounds);
      if (!isNew) return old; // answered before: the same report, whatever the record says now
      return { ...old, spent: charged(old, marks), rounds: { ...old.rounds, [place]: quoted(made) } };
    });
    const kept = JSON.parse(rounds[place]!) as Report;
    if (kept.mechanism !== fingerprint) refuse("round", "this round was answered under another mechanism");
    if (isNew && outside.length) clamped(outside);
    Object.freeze(kept.values);
    return Object.freeze(kept);
  };
  return Object.freeze({ fingerprint, most: device.most, report, statement: () => statement(mechanism, device.most) });
}

/** What is given away once these reports are: refused if it is more than the device may give. */
function charged(entry: Entry, marks: readonly Mark[]): Entry["spent"] {
  const spent = { ...entry.spent };
  for (const [names, mark] of marks) {
    for (const place of names.map(quoted)) {
      const before = spent[place] ?? [];
      if (before.includes(mark)) continue;
      if (before.length >= entry.most) refuse("spent", `column ${place} was in ${entry.most} different reports, and may be in no more`);
      spent[place] = [...before, mark];
    }
  }
  return spent;
}

/** A record's places before noise, block after block, its public values, and columns whose values were clamped. */
function readRecord(record: unknown, mechanism: Mechanism): { contents: Place[][]; values: Values; outside: string[] } {
  if (typeof record !== "object" || record === null) return refuse("record", "a record is an object");
  const given = new Map(Object.entries(record));
  const names = mechanism.columns.map((column) => column.name);
  const lacks = names.filter((name) => !given.has(name));
  const more = [...given.keys()].filter((name) => !names.includes(name) && !mechanism.omitted.includes(name));
  if (lacks.length + more.length) refuse("record", `columns that the record lacks: ${lacks}; unknown: ${more}`);
  const outside: string[] = [];
  const values = Object.create(null) as Values; // so that a column may have any name
  for (const column of mechanism.columns) {
    const value = given.get(column.name);
    values[column.name] = null;
    if (column.kind === "public") {
      readValue(value, column);
      values[column.name] = value as Level;
    }
  }
  const contents = mechanism.blocks.map((block) =>
    block.parts.map((part) => {
      const value = readValue(given.get(part.column.name), part.column);
      if (isOutside(value, part.column)) outside.push(part.column.name);
      return placeOf(value, part);
    }),
  );
  return { contents, values, outside };
}

const checkEntry = (entry: Entry): Entry => (entry.version === 1 ? entry : refuse("store", "the store is of a newer client"));

const lowered = (stored: number, given: number): number =>
  given <= stored ? given : refuse("options", `most is ${stored} on this device, and cannot be raised`);

const warn = (columns: readonly string[]): void => console.warn(`versadp: moved to the nearest bound: ${columns}`);
