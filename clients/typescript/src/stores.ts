// Where a device keeps its key, what it gave away, and the reports that it made: one entry, changed one at a time.

import { refuse, VersadpError } from "./errors.js";
import type { StoredKey } from "./words.js";

/** What a store keeps. It holds no value of any record: marks are keyed, reports have noise. */
export interface Entry {
  readonly version: 1;
  readonly key: StoredKey;
  /** A name of the key, by which another key is noticed. */
  readonly name: string;
  readonly most: number;
  /** Marks of the reports that each column was in. */
  readonly spent: Readonly<Record<string, readonly string[]>>;
  /** The report of each round, as JSON. */
  readonly rounds: Readonly<Record<string, string>>;
}

export interface Store {
  /**
   * Replace the entry (undefined at first) by what `change` makes of it, and resolve with that once it is durable.
   * No other change may come between; if `change` throws, nothing is replaced and its error is passed on.
   */
  update(change: (entry: Entry | undefined) => Entry): Promise<Entry>;
}

/** A store that is gone with the page or process: for tests and demonstrations. Each one is a further device. */
export function memoryStore(): Store {
  let entry: Entry | undefined;
  return { update: async (change) => (entry = change(entry)) };
}

/**
 * A store in IndexedDB. Each name is a device of its own, with a key of its own.
 *
 * Changes are transactions, so that tabs follow one another, under a Web Lock where there is one; a report that was
 * returned is on disk.
 */
export function indexedDbStore(name = "versadp"): Store {
  return {
    update: async (change) => {
      const work = (): Promise<Entry> => changed(name, change);
      const locks = globalThis.navigator?.locks as LockManager | undefined; // not on plain http
      return locks ? locks.request(`versadp ${name}`, work) : work();
    },
  };
}

const failed = (error: DOMException | null): VersadpError =>
  new VersadpError("store", `IndexedDB fails: ${error?.name}`);

function opened(name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    if (!globalThis.indexedDB) refuse("store", "there is no IndexedDB here");
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore("device");
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(failed(request.error));
  });
}

async function changed(name: string, change: (entry: Entry | undefined) => Entry): Promise<Entry> {
  const database = await opened(name);
  try {
    return await new Promise<Entry>((resolve, reject) => {
      const transaction = database.transaction("device", "readwrite", { durability: "strict" });
      const shelf = transaction.objectStore("device");
      const found = shelf.get("entry");
      let made: Entry;
      let problem: unknown;
      found.onsuccess = () => {
        try {
          made = change(found.result as Entry | undefined);
          shelf.put(made, "entry");
        } catch (error) {
          problem = error;
          transaction.abort();
        }
      };
      transaction.oncomplete = () => resolve(made);
      transaction.onabort = () => reject(problem ?? failed(transaction.error));
    });
  } finally {
    database.close();
  }
}
