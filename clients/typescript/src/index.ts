// @versadp/device: reports from a person's own device, with noise by WebCrypto.
//
//   const client = await Versadp.open(mechanismJson, { store: indexedDbStore(), most: 12 });
//   const report = await client.report(record, { round: "2026-11" });

import { openClient, type Client, type Options } from "./client.js";
import { web } from "./webcrypto.js";

export type { Client, Options, Report } from "./client.js";
export type { Entry, Store } from "./stores.js";
export { indexedDbStore, memoryStore } from "./stores.js";
export { VERSIONS as versions } from "./mechanism.js";
export { VersadpError, type Reason } from "./errors.js";

export const Versadp = Object.freeze({
  /** Open a mechanism on this device. The first open makes the device's key; see `Options`. */
  open: (mechanismJson: string, options: Options): Promise<Client> => openClient(web, mechanismJson, options),
});
