// Both entries of the client, and devices whose key a test knows.

import { entries as open } from "./parity.mjs";

export { deviceWithKey } from "./parity.mjs";
export const entries = await Promise.all(["index", "plain"].map(open));
