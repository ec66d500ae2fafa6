// @versadp/device/plain: the same without WebCrypto, for React Native and pages on plain http.
//
// The key stands in the store as text there, so whoever reads the store reads the key. Operations are not constant in
// time.

import { openClient, type Client, type Options } from "./client.js";
import { plain } from "./plaincrypto.js";

export type { Client, Options, Report } from "./client.js";
export type { Entry, Store } from "./stores.js";
export { indexedDbStore, memoryStore } from "./stores.js";
export { VERSIONS as versions } from "./mechanism.js";
export { VersadpError, type Reason } from "./errors.js";

export const Versadp = Object.freeze({
  /** Open a mechanism on this device. The first open makes the device's key; see `Options`. */
  open: (mechanismJson: string, options: Options): Promise<Client> => openClient(plain, mechanismJson, options),
});
